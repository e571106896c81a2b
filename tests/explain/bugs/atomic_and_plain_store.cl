// finds: race 6 7
// range: 8 / 8
// args: int 1=0
kernel void f(global int *x) {
  int i = get_local_id(0);
  if (i == 0) x[0] = 0;
  atomic_inc(x);
}
