// finds: race 6 7
// range: 16 / 16
// args: float 17
kernel void f(global float *x) {
  int i = get_global_id(0);
  float next = x[i + 1];
  x[i] = next;
}
