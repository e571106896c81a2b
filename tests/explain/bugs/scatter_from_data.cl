// finds: outside 6, guard
// range: 8 / 8
// args: int 8 = 0 1 2 99 4 5 6 7, float 8
kernel void f(global const int *at, global float *y) {
  int i = get_global_id(0);
  y[at[i]] = i;
}
