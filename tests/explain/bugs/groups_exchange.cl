// finds: race 6
// range: 16 / 4
// args: int 16
kernel void f(global int *x) {
  int i = get_global_id(0);
  x[i] = x[15 - i] + 1;
}
