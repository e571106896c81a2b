// finds: outside 6
// range: 8 / 8
// args: float 30, float 8
kernel void f(global const float *x, global float *y) {
  int i = get_global_id(0);
  float4 v = vload4(i, x);
  y[i] = v.x;
}
