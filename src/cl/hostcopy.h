/*
** hostcopy.h - copies within host memory by several threads.
** SPDX-License-Identifier: MIT
*/
#ifndef hostcopy_h
#define hostcopy_h

#include <stddef.h>

/* hostcopy.c */
void clsh_hostcopy(void *to, const void *from, size_t bytes);
int clsh_hostcopy_threads(void);

#endif
