// finds: unwritten branch 6
// range: 4 / 4
// args: int 4
kernel void f(global int *x) {
  int flag;
  if (flag)
    x[get_global_id(0)] = 1;
}
