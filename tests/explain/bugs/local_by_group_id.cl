// finds: index 7
// range: 16 / 4
// args: int 16
kernel void f(global int *x) {
  local int t[4];
  int i = get_global_id(0);
  t[i] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[i] = t[get_local_id(0)];
}
