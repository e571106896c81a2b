// finds: nothing
// range: 64 / 16
// args: float 64, float 64
kernel void f(global const float *x, global float *y) {
  y[get_global_id(0)] = x[get_global_id(0)];
}
