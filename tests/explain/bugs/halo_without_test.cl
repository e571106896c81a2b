// finds: outside 6
// range: 8,8 / 8,8
// args: float 64, float 64
kernel void f(global const float *a, global float *b) {
  int x = get_global_id(0), y = get_global_id(1);
  b[y * 8 + x] = a[(y + 1) * 8 + x];
}
