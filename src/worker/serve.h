/*
** serve.h - the worker: the program as the process that runs OpenCL for
** another one.
** SPDX-License-Identifier: MIT
*/
#ifndef serve_h
#define serve_h

int clsh_serve_run(void);

#endif
