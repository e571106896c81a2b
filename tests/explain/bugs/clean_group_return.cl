// finds: nothing
// range: 16 / 4
// args: int 16, 8, local int 4
kernel void f(global int *x, int n, local int *t) {
  int i = get_local_id(0), g = get_global_id(0);
  if ((int)get_group_id(0) * 4 >= n)
    return;
  t[i] = x[g];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[g] = t[3 - i];
}
