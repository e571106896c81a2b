// finds: index 9
// range: 8 / 8
// args: int 8
kernel void f(global int *x) {
  local int t[8];
  int i = get_local_id(0);
  t[i] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[i] = t[i - 1];
}
