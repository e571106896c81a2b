// finds: unwritten address 6
// range: 4 / 4
// args: int 4
kernel void f(global int *x) {
  int i;
  x[i & 3] = 1;
}
