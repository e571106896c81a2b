// RIGHT
#define T 8

__attribute__((reqd_work_group_size(T, T, 1)))
kernel void mm(global const float *A, global const float *B,
               global float *C, int n) {
  local float a[T][T], b[T][T + 1];
  int j = get_global_id(0), i = get_global_id(1);
  int c = get_local_id(0), r = get_local_id(1);
  float s = 0;
  for (int k = 0; k < n; k += T) {
    a[r][c] = i < n && k + c < n ? A[i * n + k + c] : 0;
    b[r][c] = k + r < n && j < n ? B[(k + r) * n + j] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int p = 0; p < T; p++)
      s += a[r][p] * b[p][c];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < n && j < n)
    C[i * n + j] = s;
}
