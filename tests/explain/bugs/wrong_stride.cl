// finds: outside 6, guard
// range: 16 / 16
// args: float 32
kernel void f(global float *x) {
  int i = get_global_id(0);
  x[i * 3] = 1.0f;
}
