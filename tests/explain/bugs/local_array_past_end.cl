// finds: index 7
// range: 8 / 8
// args: int 8
kernel void f(global int *x) {
  local int t[8];
  int i = get_local_id(0);
  t[i + 1] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  x[i] = i;
}
