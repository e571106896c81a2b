// finds: nothing
// range: 8 / 8
// args: float 8, uint 1=0
kernel void f(global const float *x, global uint *sum) {
  uint old = atomic_or(sum, 0u), seen;
  do {
    seen = old;
    old = atomic_cmpxchg(sum, seen, as_uint(as_float(seen)
      + x[get_global_id(0)]));
  } while (old != seen);
}
