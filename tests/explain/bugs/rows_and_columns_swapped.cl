// finds: outside 7, guard
// range: 8,4 / 8,4
// args: float 32, float 32, 8, 4
kernel void f(global const float *a, global float *b, int m, int n) {
  int i = get_global_id(0), j = get_global_id(1);
  if (i < m && j < n)
    b[i * m + j] = a[0];
}
