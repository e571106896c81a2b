// finds: nothing
// range: 8 / 8
// args: float 8
float square(float v) { return v * v; }
void put(global float *p, float v) { *p = square(v); }
kernel void f(global float *x) {
  put(&x[get_global_id(0)], 3.0f);
}
