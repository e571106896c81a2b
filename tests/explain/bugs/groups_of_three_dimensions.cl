// finds: race 6
// range: 2 2 4 / 2 2 2
// args: int 8
kernel void f(global int *x) {
  int i = get_global_id(0), j = get_global_id(1), k = get_global_id(2);
  x[j * 2 + i + 4 * (k & 1)] = k;
}
