// RIGHT
#define AT(M, i, j, ld) M[(i) * (ld) + (j)]
kernel void turn(global const float *A, global float *B, int m, int n) {
  const size_t j = get_global_id(0), i = get_global_id(1);
  if (j < n && i < m)
    AT(B, j, i, m) = AT(A, i, j, n);
}
