/*
** crashlayer.c - an OpenCL driver that ends the process which loads it; with
** CRASHLAYER=hang in the environment, one whose loading does not end.
** SPDX-License-Identifier: MIT
*/
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void crash(void) {
  const char *how = getenv("CRASHLAYER");
  while (how != NULL && strcmp(how, "hang") == 0)
    pause();
  abort();
}
