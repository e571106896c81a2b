// finds: race 6 7
// range: 8 / 8
// args: int 8, local int 8
kernel void f(global int *x, local int *t) {
  int i = get_local_id(0);
  t[i] = x[i];
  x[i] = t[7 - i] + 1;
}
