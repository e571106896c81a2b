// finds: nothing
// range: 8 / 8
// args: float 32, float 32
kernel void f(global const float4 *x, global float4 *y) {
  y[get_global_id(0)] = 2.0f * x[get_global_id(0)];
}
