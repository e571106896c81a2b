// finds: nothing
// range: 8 / 8
// args: int 8
kernel void f(global int *x) {
  int i = get_global_id(0);
  for (int k = 0; k < 8; k++) {
    if ((i & 1) == (k & 1) && i < 7 && x[i] < x[i + 1]) {
      int v = x[i];
      x[i] = x[i + 1];
      x[i + 1] = v;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
}
