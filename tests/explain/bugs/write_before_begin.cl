// finds: outside 6, guard
// range: 64 / 16
// args: int 64
kernel void f(global int *x) {
  int i = get_global_id(0);
  x[i - 1] = i;
}
