// finds: nothing
// range: 8 / 8
// args: float 24, float 24
kernel void f(global const float *x, global float *y) {
  int i = get_global_id(0);
  float3 v = vload3(i, x);
  vstore3(v * v, i, y);
}
