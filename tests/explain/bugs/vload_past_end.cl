// finds: outside 6
// range: 4 / 4
// args: float 14, float 16
kernel void f(global const float *x, global float *y) {
  int i = get_global_id(0);
  vstore4(vload4(i, x), i, y);
}
