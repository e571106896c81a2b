// finds: outside 6
// range: 8 / 8
// args: char 40, int 8
typedef struct { char tag; int value; } Pair;
kernel void f(global const Pair *p, global int *y) {
  y[get_global_id(0)] = p[get_global_id(0)].value;
}
