// finds: nothing
// range: 16 / 4
// args: int 16, int 16, uint 1=0, int 1
kernel void f(global const int *x, global int *part, global uint *done,
              global int *sum) {
  local uint ticket;
  part[get_global_id(0)] = x[get_global_id(0)];
  barrier(CLK_GLOBAL_MEM_FENCE);
  if (get_local_id(0) == 0)
    ticket = atomic_inc(done);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (ticket == get_num_groups(0) - 1 && get_local_id(0) == 0) {
    int s = 0;
    for (int i = 0; i < 16; i++)
      s += part[i];
    sum[0] = s;
  }
}
