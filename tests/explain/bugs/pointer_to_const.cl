// finds: constant 5, guard
// range: 8 / 4
// args: int 8
kernel void f(global const int *x) {
  ((global int *)x)[get_global_id(0)] = 1;
}
