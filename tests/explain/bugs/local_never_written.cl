// finds: unwritten 7
// range: 8 / 8
// args: int 8, local int 8
kernel void f(global int *x, local int *t) {
  int i = get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  x[i] = t[i];
}
