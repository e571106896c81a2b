// INVALID: took more than
kernel void endless(global const float *x, global float *y, int n) {
  volatile int go = 1;
  while (go)
    ;
  y[get_global_id(0)] = 2 * x[get_global_id(0)];
}
