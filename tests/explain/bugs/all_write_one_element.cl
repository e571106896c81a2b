// finds: race 5
// range: 16 / 16
// args: int 1
kernel void f(global int *x) {
  x[0] = get_global_id(0);
}
