// finds: nothing
// range: 8 / 8
// args: int 8, int 1=0
kernel void f(global int *x, global int *flag) {
  int i = get_global_id(0);
  if (x[i] > 3)
    atomic_or(flag, 1);
  barrier(CLK_GLOBAL_MEM_FENCE);
  x[i] = atomic_or(flag, 0);
}
