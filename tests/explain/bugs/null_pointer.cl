// finds: outside 6
// range: 4 / 4
// args: int 4
kernel void f(global int *x) {
  global int *p = 0;
  p[get_global_id(0)] = x[0];
}
