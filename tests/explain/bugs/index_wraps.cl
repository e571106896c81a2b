// finds: outside 6
// range: 4 / 4
// args: int 8, int 4
kernel void f(global const int *x, global int *y) {
  size_t i = get_global_id(0);
  y[i] = x[i - 1];
}
