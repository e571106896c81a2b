/*
** compiler.c - the driver's compiler on a thread of its own, so that Ctrl-C
** ends the wait: no driver's compiler can be stopped. An abandoned one goes on
** alone.
** SPDX-License-Identifier: MIT
*/
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"
#include "program.h"

#define STACKSIZE ((size_t)8 << 20) /* bytes, as the main thread has */

typedef struct Job {
  atomic_int refs; /* of the thread and of the waiting caller */
  atomic_bool done;
  cl_program program;
  bool abandoned; /* the caller's reference to the program is the job's too */
  cl_device_id device;
  cl_int err;
  char options[];
} Job;

static atomic_int running; /* threads at work */

/* The threads at work; after a fork they are the parent's. */
int clsh_compiler_running(void) {
  return clsh_process_handsoff() ? 0 : running;
}

static void releasejob(Job *j) {
  if (atomic_fetch_sub(&j->refs, 1) == 1) {
    clReleaseProgram(j->program);
    if (j->abandoned)
      clReleaseProgram(j->program);
    free(j);
  }
}

/*
** LLVM gives the thread that it first runs on an alternate signal stack, anew
** after each signal that its handlers saw. The thread takes its own back, as a
** sanitizer frees the one that it finds at the end.
*/
static void *work(void *arg) {
  Job *j = arg;
  stack_t own;
  bool known = sigaltstack(NULL, &own) == 0;
  j->err = clBuildProgram(j->program, 1, &j->device, j->options, NULL, NULL);
  if (known)
    sigaltstack(&own, NULL);
  j->done = true;
  releasejob(j);
  running--;
  return NULL;
}

static bool isdone(void *arg) {
  return ((Job *)arg)->done;
}

/* Protected, with the job as its argument: waits, or raises at Ctrl-C. */
static int waitjob(lua_State *L) {
  clsh_poll_until(L, isdone, lua_touserdata(L, 1),
                  "the compiler cannot be stopped");
  return 0;
}

/*
** The result of clBuildProgram. Oclgrind 21.10 builds on the thread that made
** the context, else it crashes. Ctrl-C raises at once and takes the program's
** handle away: to release it, a driver may wait for its compiler.
*/
cl_int clsh_compiler_run(lua_State *L, Program *p, const char *options) {
  cl_device_id d = p->context->device;
  Job *j = malloc(sizeof *j + strlen(options) + 1);
  if (j == NULL)
    return CL_OUT_OF_HOST_MEMORY;
  *j = (Job){.refs = 2, .program = p->handle, .device = d};
  strcpy(j->options, options);
  clsh_source_dropquoted(j->options);
  lua_pushcfunction(L, waitjob);
  lua_pushlightuserdata(L, j);
  clRetainProgram(p->handle);
  running++;
  clsh_hush_begin();
  if (p->context->limits.simulated ||
      !clsh_process_thread(work, j, STACKSIZE)) {
    running--;
    lua_pop(L, 2);
    j->refs = 1;
    cl_int err = clBuildProgram(p->handle, 1, &d, j->options, NULL, NULL);
    clsh_hush_end();
    releasejob(j);
    return err;
  }
  int status = lua_pcall(L, 1, 0, 0);
  clsh_hush_end();
  cl_int err = status == LUA_OK ? j->err : CL_SUCCESS;
  if (status != LUA_OK) {
    j->abandoned = true;
    p->handle = NULL;
  }
  releasejob(j);
  if (status != LUA_OK)
    lua_error(L);
  return err;
}
