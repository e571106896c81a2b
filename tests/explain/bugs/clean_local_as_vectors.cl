// finds: nothing
// range: 8 / 8
// args: float 32
kernel void f(global float *x) {
  local float t[32];
  int i = get_local_id(0);
  ((local float4 *)t)[i] = vload4(i, x);
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  for (int k = 0; k < 4; k++)
    x[8 * k + i] = t[8 * k + 7 - i];
}
