// finds: outside 6
// range: 4 / 4
// args: int 16
kernel void f(global int *x) {
  int i = get_global_id(0);
  x[i * 0x40000000 / 0x20000000] = 1;
}
