// finds: unwritten 6, unwritten 8
// range: 8 / 8
// args: int 8
kernel void f(global int *x) {
  local int count;
  if (x[get_local_id(0)] > 3) atomic_inc(&count);
  barrier(CLK_LOCAL_MEM_FENCE);
  x[get_local_id(0)] = count;
}
