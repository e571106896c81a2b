// finds: index 7
// range: 8 / 8
// args: int 8
kernel void f(global int *x) {
  int p[4] = {0, 0, 0, 0};
  int i = get_global_id(0);
  p[i] = 1;
  x[i] = p[0];
}
