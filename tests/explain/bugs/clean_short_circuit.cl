// finds: nothing
// range: 8 / 8
// args: int 8
kernel void f(global int *x) {
  int i = get_global_id(0), last;
  bool has = i > 3;
  if (has)
    last = i;
  x[i] = has && last > 5 ? 1 : 0;
}
