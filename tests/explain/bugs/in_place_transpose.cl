// finds: race 6
// range: 4,4 / 4,4
// args: float 16
kernel void f(global float *a) {
  int i = get_global_id(0), j = get_global_id(1);
  a[i * 4 + j] = a[j * 4 + i];
}
