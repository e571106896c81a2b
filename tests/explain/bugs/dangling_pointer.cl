// finds: outside 10
// range: 4 / 4
// args: int 4
int *table(int i) {
  int t[4];
  for (int k = 0; k < 4; k++) t[k] = k * i;
  return t;
}
kernel void f(global int *x) {
  x[get_global_id(0)] = table(get_global_id(0))[2];
}
