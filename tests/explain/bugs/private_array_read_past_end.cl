// finds: index 7
// range: 4 / 4
// args: int 4
kernel void f(global int *x) {
  int p[3] = {1, 2, 3};
  int i = get_global_id(0);
  x[i] = p[i];
}
