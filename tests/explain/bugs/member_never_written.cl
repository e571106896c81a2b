// finds: unwritten 8
// range: 4 / 4
// args: int 4
typedef struct { int a, b; } Two;
kernel void f(global int *x) {
  Two t;
  t.a = 1;
  x[get_global_id(0)] = t.a + t.b;
}
