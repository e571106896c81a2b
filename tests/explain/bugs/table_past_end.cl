// finds: index 7
// range: 8 / 8
// args: int 8
constant int table[4] = {1, 2, 3, 4};
kernel void f(global int *x) {
  int i = get_global_id(0);
  x[i] = table[i];
}
