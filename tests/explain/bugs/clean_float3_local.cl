// finds: nothing
// range: 8 / 8
// args: float 24
kernel void f(global float *x) {
  local float3 t[8];
  int i = get_local_id(0);
  t[i] = vload3(i, x);
  barrier(CLK_LOCAL_MEM_FENCE);
  vstore3(t[7 - i], i, x);
}
