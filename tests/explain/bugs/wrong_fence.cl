// finds: race 6 8
// range: 8 / 8
// args: int 8, local int 8
kernel void f(global int *x, local int *t) {
  int i = get_local_id(0);
  t[i] = i;
  barrier(CLK_GLOBAL_MEM_FENCE);
  x[i] = t[7 - i];
}
