// finds: outside 6, guard
// range: 16 / 4
// args: float 64
kernel void f(global float *x) {
  int i = get_global_id(0);
  vstore4((float4)(1), i, x + 2);
}
