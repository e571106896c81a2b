// finds: race 9 16
// range: 16 / 4
// args: float 16, float 1=0, float 16
void add(volatile global float *p, float v) {
  union { uint u; float f; } seen, sum;
  do {
    seen.f = *p;
    sum.f = seen.f + v;
  } while (atomic_cmpxchg((volatile global uint *)p, seen.u, sum.u)
           != seen.u);
}

kernel void f(global const float *x, volatile global float *sum,
              global float *y) {
  add(sum, x[get_global_id(0)]);
  y[get_global_id(0)] = *sum;
}
