// finds: outside 6, guard
// range: 8 / 8
// args: float 30
kernel void f(global float *x) {
  int i = get_global_id(0);
  vstore4((float4)(0.0f), i, x);
}
