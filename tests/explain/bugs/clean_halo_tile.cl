// finds: nothing
// range: 8,8 / 4,4
// args: float 64, float 64
kernel void f(global const float *a, global float *b) {
  local float t[6][6];
  int x = get_global_id(0), y = get_global_id(1);
  int i = get_local_id(0), j = get_local_id(1);
  int left = get_group_id(0) * 4 - 1, top = get_group_id(1) * 4 - 1;
  for (int r = j; r < 6; r += 4)
    for (int c = i; c < 6; c += 4) {
      int xx = clamp(left + c, 0, 7), yy = clamp(top + r, 0, 7);
      t[r][c] = a[yy * 8 + xx];
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  b[y * 8 + x] = t[j][i + 1] + t[j + 2][i + 1] + t[j + 1][i] + t[j + 1][i + 2];
}
