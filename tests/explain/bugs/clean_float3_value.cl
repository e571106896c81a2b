// finds: nothing
// range: 8 / 8
// args: float 8
kernel void f(global float *x) {
  int i = get_global_id(0);
  float3 v = (float3)(x[i], 1.0f, 2.0f);
  float3 w = v.zyx + v;
  x[i] = w.x + w.y + w.z;
}
