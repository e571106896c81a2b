// RIGHT
kernel void turn(global const float *A, global float *B, int m, int n) {
  local float t[8][9];
  int c = get_local_id(0), r = get_local_id(1);
  int j = get_global_id(0), i = get_global_id(1);
  if (i < m && j < n)
    t[r][c] = A[i * n + j];
  barrier(CLK_LOCAL_MEM_FENCE);
  j = 8 * get_group_id(0) + r, i = 8 * get_group_id(1) + c;
  if (i < m && j < n)
    B[j * m + i] = t[c][r];
}
