// finds: constant 6
// range: 4 / 4
// args: constant int 4
kernel void f(constant int *c) {
  int i = get_global_id(0);
  ((global int *)(ulong)c)[i] = i;
}
