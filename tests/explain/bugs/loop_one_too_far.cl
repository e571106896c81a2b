// finds: outside 7
// range: 4 / 4
// args: float 32, float 4, 8
kernel void f(global const float *x, global float *y, int n) {
  float sum = 0.0f;
  for (int k = 0; k <= n; k++)
    sum += x[get_global_id(0) * n + k];
  y[get_global_id(0)] = sum;
}
