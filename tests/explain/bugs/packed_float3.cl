// finds: outside 7
// range: 8 / 8
// args: float 24, float 24
kernel void f(global const float3 *x, global float *y) {
  int i = get_global_id(0);
  // three floats lie there for each element, float3 takes four
  vstore3(2.0f * x[i], i, y);
}
