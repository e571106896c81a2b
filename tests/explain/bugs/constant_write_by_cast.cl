// finds: constant 5
// range: 4 / 4
// args: constant int 4
kernel void f(constant int *c) {
  ((global int *)(size_t)c)[get_global_id(0)] = 1;
}
