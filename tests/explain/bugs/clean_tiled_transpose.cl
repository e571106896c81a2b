// finds: nothing
// range: 8,8 / 4,4
// args: float 64, float 64
kernel void f(global const float *a, global float *b) {
  local float t[4][5];
  int i = get_local_id(0), j = get_local_id(1);
  int x = get_group_id(0) * 4, y = get_group_id(1) * 4;
  t[j][i] = a[(y + j) * 8 + x + i];
  barrier(CLK_LOCAL_MEM_FENCE);
  b[(x + j) * 8 + y + i] = t[i][j];
}
