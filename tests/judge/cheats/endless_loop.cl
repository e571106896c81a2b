// INVALID: took more than
kernel void endless(global const float *x, global float *y, int n) {
  global volatile float *last = y + n - 1;
  while (*last != *last + 1) // no compiler leaves this loop out
    ;
  y[get_global_id(0)] = 2 * x[get_global_id(0)];
}
