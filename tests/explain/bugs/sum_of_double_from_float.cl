// finds: outside 5
// range: 8 / 8
// args: float 8, double 8
kernel void f(global const float *x, global double *y) {
  y[get_global_id(0)] = ((global const double *)x)[get_global_id(0)];
}
