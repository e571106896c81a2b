// finds: misaligned 5
// range: 4 / 4
// args: int 20, int 16
kernel void f(global const int *x, global int *y) {
  int4 v = *(global const int4 *)(x + 1 + 4 * get_global_id(0));
  vstore4(v, get_global_id(0), y);
}
