// finds: nothing
// range: 8 / 8
// args: ushort 8, float 8, ushort 32
kernel void f(global const half *x, global float *y, global half *z) {
  int i = get_global_id(0);
  y[i] = vload_half(i, x);
  vstore_half4((float4)(y[i], 1, 2, 3), i, z);
}
