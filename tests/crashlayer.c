/*
** crashlayer.c - an OpenCL driver that ends the process which loads it.
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>

__attribute__((constructor)) static void crash(void) {
  abort();
}
