// finds: outside 5
// range: 8 / 8
// args: constant int 4, int 8
kernel void f(constant int *c, global int *x) {
  x[get_global_id(0)] = c[get_global_id(0)];
}
