// finds: nothing
// range: 8 / 8
// args: float 16
kernel void f(global float *x) {
  int i = get_global_id(0);
  float4 v;
  v.x = x[2 * i];
  v.y = 2.0f;
  vstore2(v.xy, i, x + 0 * i);
}
