// finds: index 7
// range: 4,4 / 4,4
// args: float 16
kernel void f(global float *x) {
  local float t[4][4];
  int i = get_local_id(0), j = get_local_id(1);
  t[j][i + 1] = x[j * 4 + i];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[j * 4 + i] = 0.0f;
}
