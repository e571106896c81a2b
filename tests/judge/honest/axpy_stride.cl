// RIGHT
kernel void axpy(float a, global const float *restrict x,
                 global float *restrict y, const int n) {
  for (int i = get_global_id(0); i < n; i += get_global_size(0))
    y[i] += a * x[i];
}
