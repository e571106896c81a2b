// finds: race 6 8
// range: 8 8 / 4 4
// args: int 64
kernel void f(global int *x) {
  int i = get_global_id(0), j = get_global_id(1);
  int v = x[j * 8 + (i + 4) % 8];
  barrier(CLK_GLOBAL_MEM_FENCE);
  x[j * 8 + i] = v;
}
