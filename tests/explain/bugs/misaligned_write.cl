// finds: misaligned 6
// range: 4 / 4
// args: float 20
kernel void f(global float *x) {
  int i = get_global_id(0);
  *(global float4 *)(x + 4 * i + 1) = (float4)(1.0f);
}
