// finds: race 7 9
// range: 8 / 8
// args: int 8, local int 8
kernel void f(global int *x, local int *t) {
  int i = get_local_id(0), sum = 0;
  for (int k = 0; k < 2; k++) {
    t[i] = x[i] + k;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum += t[7 - i];
  }
  x[i] = sum;
}
