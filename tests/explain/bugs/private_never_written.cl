// finds: unwritten 7
// range: 4 / 4
// args: int 4
kernel void f(global int *x) {
  int p[4];
  int i = get_global_id(0);
  x[i] = p[i];
}
