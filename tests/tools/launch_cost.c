/*
** launch_cost.c - what a launch costs without Lua: three clSetKernelArg and
** one clEnqueueNDRangeKernel, for scripts/bench_launch.lua to compare with.
** Usage: launch_cost ROUNDS LAUNCHES [DEVICE-TYPE], where the type is gpu or
** cpu. Prints the microseconds per launch of each round, one to a line.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cl/cl.h"

static const char *const source =
    "kernel void touch(float a, global float *x, global float *y) {"
    "  if (a < 0) y[0] = x[0]; }";

static void check(cl_int err, const char *call) {
  if (err == CL_SUCCESS)
    return;
  fprintf(stderr, "launch_cost: %s: %d\n", call, (int)err);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static cl_device_id finddevice(cl_device_type type) {
  cl_platform_id platforms[16];
  cl_device_id d = NULL;
  cl_uint n = 0;
  check(clGetPlatformIDs(16, platforms, &n), "clGetPlatformIDs");
  for (cl_uint i = 0; i < n && i < 16 && d == NULL; i++)
    if (clGetDeviceIDs(platforms[i], type, 1, &d, NULL) != CL_SUCCESS)
      d = NULL;
  if (d == NULL)
    check(CL_DEVICE_NOT_FOUND, "clGetDeviceIDs");
  return d;
}

/* Microseconds per launch; events are released as they are replaced. */
static double round_(cl_command_queue q, cl_kernel k, cl_mem x, cl_mem y,
                     int launches) {
  const size_t global = 1;
  const float a = 1;
  check(clFinish(q), "clFinish");
  double begin = now();
  for (int i = 0; i < launches; i++) {
    cl_event e;
    clSetKernelArg(k, 0, sizeof a, &a);
    clSetKernelArg(k, 1, sizeof x, &x);
    clSetKernelArg(k, 2, sizeof y, &y);
    check(clEnqueueNDRangeKernel(q, k, 1, NULL, &global, &global, 0, NULL, &e),
          "clEnqueueNDRangeKernel");
    clReleaseEvent(e);
  }
  double spent = now() - begin;
  check(clFinish(q), "clFinish");
  return spent / launches * 1e6;
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 10;
  int launches = argc > 2 ? atoi(argv[2]) : 1000;
  bool cpu = argc > 3 && strcmp(argv[3], "cpu") == 0;
  cl_int err;
  cl_device_id d = finddevice(cpu        ? CL_DEVICE_TYPE_CPU
                              : argc > 3 ? CL_DEVICE_TYPE_GPU
                                         : CL_DEVICE_TYPE_ALL);
  cl_context c = clCreateContext(NULL, 1, &d, NULL, NULL, &err);
  check(err, "clCreateContext");
  cl_command_queue q =
      clCreateCommandQueue(c, d, CL_QUEUE_PROFILING_ENABLE, &err);
  check(err, "clCreateCommandQueue");
  const char *text = source;
  cl_program p = clCreateProgramWithSource(c, 1, &text, NULL, &err);
  check(err, "clCreateProgramWithSource");
  check(clBuildProgram(p, 1, &d, "", NULL, NULL), "clBuildProgram");
  cl_kernel k = clCreateKernel(p, "touch", &err);
  check(err, "clCreateKernel");
  cl_mem x = clCreateBuffer(c, CL_MEM_READ_WRITE, 4096, NULL, &err);
  check(err, "clCreateBuffer");
  cl_mem y = clCreateBuffer(c, CL_MEM_READ_WRITE, 4096, NULL, &err);
  check(err, "clCreateBuffer");
  round_(q, k, x, y, launches); /* warm-up */
  for (int i = 0; i < rounds; i++)
    printf("%.4f\n", round_(q, k, x, y, launches));
  clReleaseMemObject(y);
  clReleaseMemObject(x);
  clReleaseKernel(k);
  clReleaseProgram(p);
  clReleaseCommandQueue(q);
  clReleaseContext(c);
  return 0;
}
