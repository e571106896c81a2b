// finds: nothing
// range: 8 8 / 4 2
// args: int 64, int 64
kernel void f(global const int *x, global int *y) {
  int i = get_global_id(0), j = get_global_id(1);
  y[i * 8 + j] = x[j * 8 + i];
}
