// finds: nothing
// range: 7 / 7
// args: float 32, float 28
kernel void f(global const float *x, global float *y) {
  int i = get_global_id(0);
  vstore4(vload4(i, x + 1), i, y);
}
