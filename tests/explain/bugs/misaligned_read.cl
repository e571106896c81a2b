// finds: misaligned 6
// range: 4 / 4
// args: float 20, float 4
kernel void f(global const float *x, global float *y) {
  int i = get_global_id(0);
  y[i] = (*(global const float4 *)(x + 4 * i + 2)).x;
}
