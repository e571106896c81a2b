// finds: nothing
// range: 8 / 8
// args: float 8
kernel void f(global float *x) {
  int i = get_global_id(0);
  switch (i & 3) {
  case 0: x[i] = sqrt(fabs(x[i])); break;
  case 1: x[i] = exp(x[i]); break;
  default: x[i] = fma(x[i], 2.0f, 1.0f);
  }
}
