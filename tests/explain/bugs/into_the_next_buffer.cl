// finds: outside 6, guard
// range: 16 / 16
// args: int 16, int 16
kernel void f(global int *x, global int *y) {
  int i = get_global_id(0);
  x[i + 16] = y[i];
}
