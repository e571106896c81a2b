/*
** worker.h - what the driver of --worker (src/worker) tells module cl: its
** errors, and their reasons as notices of the context, which begin with
** WORKER_NOTICE; the second line of one is the remedy.
** SPDX-License-Identifier: MIT
*/
#ifndef worker_h
#define worker_h

#define WORKER_DIED (-2001)  /* the worker ended, in or before this command */
#define CONTENT_LOST (-2002) /* ... and with it the content of a buffer */
#define WORKER_LACKS (-2003) /* the worker has no such call */
#define WORKER_NOTICE "worker: "

#endif
