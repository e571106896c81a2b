// finds: nothing
// range: 8,8 / 4,4
// args: float 64, float 64, float 64
kernel void f(global const float *a, global const float *b, global float *c) {
  local float s[4][4], t[4][4];
  int i = get_local_id(0), j = get_local_id(1);
  int x = get_global_id(0), y = get_global_id(1);
  float sum = 0.0f;
  for (int k = 0; k < 8; k += 4) {
    s[j][i] = a[y * 8 + k + i];
    t[j][i] = b[(k + j) * 8 + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int l = 0; l < 4; l++)
      sum += s[j][l] * t[l][i];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[y * 8 + x] = sum;
}
