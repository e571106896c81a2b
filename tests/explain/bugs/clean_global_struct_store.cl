// finds: nothing
// range: 4 / 4
// args: char 64
typedef struct { char a; int b; long c; } Wide;
kernel void f(global Wide *y) {
  Wide w;
  w.a = 1;
  w.b = 2;
  w.c = 3;
  y[get_global_id(0)] = w;
}
