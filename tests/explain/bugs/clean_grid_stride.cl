// finds: nothing
// range: 8 / 4
// args: float 100, 100
kernel void f(global float *x, int n) {
  for (int i = get_global_id(0); i < n; i += get_global_size(0))
    x[i] += 1.0f;
}
