// finds: nothing
// range: 16 / 8
// args: int 16, int 4=0 0 0 0
kernel void f(global const int *x, global int *count) {
  local int t[4];
  int i = get_local_id(0);
  for (int k = i; k < 4; k += 8)
    t[k] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_inc(&t[x[get_global_id(0)] & 3]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = i; k < 4; k += 8)
    atomic_add(&count[k], t[k]);
}
