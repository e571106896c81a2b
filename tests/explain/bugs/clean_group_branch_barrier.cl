// finds: nothing
// range: 16 / 4
// args: int 16, local int 4
kernel void f(global int *x, local int *t) {
  int i = get_local_id(0), g = get_global_id(0);
  t[i] = x[g];
  if (get_group_id(0) % 2 == 0) {
    barrier(CLK_LOCAL_MEM_FENCE);
    x[g] = t[3 - i];
  }
}
