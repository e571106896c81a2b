// finds: unwritten 8
// range: 4 / 4
// args: float 4, 3
kernel void f(global float *x, int n) {
  float sum;
  for (int k = 0; k < n; k++)
    sum += k;
  x[get_global_id(0)] = sum;
}
