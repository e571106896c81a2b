// finds: nothing
// range: 8,8 / 4,4
// args: float 64, float 64
kernel void f(global const float *a, global float *b) {
  int x = get_global_id(0), y = get_global_id(1);
  float left = x > 0 ? a[y * 8 + x - 1] : 0.0f;
  float below = y < 7 ? a[(y + 1) * 8 + x] : 0.0f;
  b[y * 8 + x] = left + below;
}
