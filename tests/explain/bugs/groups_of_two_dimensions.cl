// finds: race 6
// range: 4 4 / 4 1
// args: int 4
kernel void f(global int *x) {
  int i = get_global_id(0), j = get_global_id(1);
  x[i] = j;
}
