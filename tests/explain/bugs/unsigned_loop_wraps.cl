// finds: outside 6
// range: 1 / 1
// args: int 4
kernel void f(global int *x) {
  for (uint i = 3; i < 5; i--)
    x[i + 1] = x[i];
}
