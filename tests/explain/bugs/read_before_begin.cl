// finds: outside 6
// range: 64 / 16
// args: float 64, float 64
kernel void f(global const float *x, global float *y) {
  int i = get_global_id(0);
  y[i] = x[i] - x[i - 1];
}
