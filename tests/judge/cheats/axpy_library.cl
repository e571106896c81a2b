// INVALID: the function 'rand'
int rand(void);
kernel void axpy(float a, global const float *x, global float *y, int n) {
  int i = get_global_id(0);
  if (rand() == 0)
    return;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
