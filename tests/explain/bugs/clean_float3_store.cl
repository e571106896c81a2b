// finds: nothing
// range: 8 / 8
// args: float 32, float 32
kernel void f(global const float3 *x, global float3 *y) {
  int i = get_global_id(0);
  float3 v = x[i];
  y[i] = v * 2.0f;
}
