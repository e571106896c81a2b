// finds: nothing
// range: 8 / 8
// args: int 8
kernel void f(global int *x) {
  int p[4];
  int i = get_global_id(0);
  for (int k = 0; k < 4; k++)
    p[k] = k * x[i];
  x[i] = p[i & 3];
}
