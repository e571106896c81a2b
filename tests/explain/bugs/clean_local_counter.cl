// finds: nothing
// range: 8 / 8
// args: int 8, int 8
kernel void f(global const int *x, global int *y) {
  local int count;
  int i = get_local_id(0);
  if (i == 0)
    count = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (x[i] > 3)
    y[atomic_inc(&count)] = x[i];
}
