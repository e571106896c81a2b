// finds: race 9
// range: 8 / 8
// args: int 8, local int 8
kernel void f(global int *x, local int *t) {
  int i = get_local_id(0);
  t[i] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int n = 4; n > 0; n /= 2)
    if (i < n) t[i] += t[i + n];
  if (i == 0) x[0] = t[0];
}
