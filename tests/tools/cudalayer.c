/*
** cudalayer.c - a driver of CUDA without a GPU, to stand as libcuda.so.1. The
** text of a program is "BYTES ..." of the arguments of its kernel: 8 stands
** for an address. A launch prints its sizes and arguments in hexadecimal, of
** an address the memory from there on. CUDAFAIL names a call that fails.
** SPDX-License-Identifier: MIT
*/
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static struct {
  unsigned char *at;
  size_t bytes;
} memories[16];
static int count;
static const char *program;

static int result(const char *call) {
  const char *fails = getenv("CUDAFAIL");
  return fails != NULL && strcmp(fails, call) == 0 ? 700 : 0;
}

int cuInit(unsigned flags) {
  return flags + result("cuInit");
}

int cuDeviceGetByPCIBusId(int *device, const char *bus) {
  *device = 0;
  printf("bus %s\n", bus);
  return result("cuDeviceGetByPCIBusId");
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = &count;
  return device;
}

int cuCtxSetCurrent(void *context) {
  return context == &count ? 0 : 201;
}

int cuModuleLoadDataEx(void **module, const void *text, unsigned n,
                       int *options, void **values) {
  program = text;
  *module = &program;
  if (n == 2 && options[0] == 5 && result("cuModuleLoadDataEx") != 0)
    strcpy(values[0], "ptxas says no");
  return result("cuModuleLoadDataEx");
}

int cuModuleGetFunction(void **f, void *module, const char *name) {
  *f = module;
  printf("kernel %s\n", name);
  return 0;
}

int cuFuncSetAttribute(void *f, int attribute, int value) {
  printf("attribute %d %d\n", attribute, value);
  return f == &program ? 0 : 400;
}

int cuMemAlloc_v2(uint64_t *at, size_t bytes) {
  memories[count].at = malloc(bytes);
  memories[count].bytes = bytes;
  *at = (uint64_t)(uintptr_t)memories[count++].at;
  return result("cuMemAlloc");
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  if (bytes > 0)
    memcpy((void *)(uintptr_t)to, from, bytes);
  return 0;
}

static void print(const unsigned char *p, size_t n) {
  for (size_t i = 0; i < n; i++)
    printf("%02x", p[i]);
}

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned x,
                   unsigned y, unsigned z, unsigned dynamic, void *stream,
                   void **args, void **extra) {
  char *s = (char *)(uintptr_t)program;
  printf("launch %u %u %u, %u %u %u, %u\n", gx, gy, gz, x, y, z, dynamic);
  for (long n = strtol(s, &s, 10); n > 0; n = strtol(s, &s, 10)) {
    unsigned char *p = *args++, *at;
    printf("arg ");
    memcpy(&at, p, n == 8 ? sizeof at : 0);
    for (int i = 0; i < count && n == 8; i++)
      if (at >= memories[i].at && at < memories[i].at + memories[i].bytes) {
        printf("memory ");
        print(at, (size_t)(memories[i].at + memories[i].bytes - at));
        n = 0;
      }
    print(p, (size_t)n);
    printf("\n");
  }
  return f == &program && stream == NULL && extra == NULL ? 0 : 400;
}

int cuCtxSynchronize(void) {
  return result("cuCtxSynchronize");
}

int cuGetErrorName(int error, const char **name) {
  *name = error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR";
  return 0;
}
