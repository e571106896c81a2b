// finds: outside 6
// range: 16 / 16
// args: int 16, int 16
kernel void f(global const int *x, global int *y) {
  int i = get_global_id(0);
  y[i] = x[(i - 2) % 16];
}
