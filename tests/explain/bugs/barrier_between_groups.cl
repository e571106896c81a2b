// finds: race 6 8
// range: 16 / 4
// args: int 16, int 16
kernel void f(global int *x, global int *y) {
  int i = get_global_id(0);
  x[i] = i;
  barrier(CLK_GLOBAL_MEM_FENCE);
  y[i] = x[15 - i];
}
