// finds: outside 8
// range: 4 / 4
// args: int 4
kernel void f(global int *x) {
  int a[4] = {1, 2, 3, 4};
  int *p = a;
  p -= get_global_id(0);
  x[get_global_id(0)] = *p;
}
