// RIGHT
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef struct {
  float value;
} Box;

enum { ONE = 1 };
constant float one = ONE;
struct Pair {
  int a, b;
};

kernel void axpy(float a, global const float *x, global float *y, int n) {
  int i = get_global_id(0);
  Box b = {a * one};
  if (i < n)
    y[i] = b.value * x[i] + y[i];
}
