/*
** builder.c - compiles on a thread of its own, so that Ctrl-C ends the wait:
** no driver's compiler can be stopped. What was given up goes on by itself.
** SPDX-License-Identifier: MIT
*/
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"
#include "program.h"

#define STACKSIZE ((size_t)8 << 20) /* bytes, as the main thread has */

typedef struct Job {
  atomic_int refs; /* the thread, and who waits for it */
  atomic_bool done;
  cl_program program;
  bool left; /* nobody waits any more: both references are the job's */
  cl_device_id device;
  cl_int err;
  char options[];
} Job;

static atomic_int running; /* threads at work */

int clsh_buildsrunning(void) {
  return clsh_forked() ? 0 : running; /* the threads are the parent's */
}

static void releasejob(Job *j) {
  if (atomic_fetch_sub(&j->refs, 1) == 1) {
    clReleaseProgram(j->program);
    if (j->left)
      clReleaseProgram(j->program);
    free(j);
  }
}

static void *work(void *arg) {
  Job *j = arg;
  j->err = clBuildProgram(j->program, 1, &j->device, j->options, NULL, NULL);
  j->done = true;
  releasejob(j);
  running--;
  return NULL;
}

static bool isdone(void *arg) {
  return ((Job *)arg)->done;
}

/* Starts the thread, which gets no signals; false where there is none. */
static bool start(Job *j) {
  pthread_t thread;
  pthread_attr_t attr;
  sigset_t all, before;
  size_t size = 0;
  sigfillset(&all);
  pthread_attr_init(&attr);
  if (pthread_attr_getstacksize(&attr, &size) != 0 || size < STACKSIZE)
    pthread_attr_setstacksize(&attr, STACKSIZE);
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  running++;
  bool started = pthread_create(&thread, &attr, work, j) == 0;
  running -= !started;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attr);
  return started;
}

/* Protected, with the job as its argument: waits, or raises at Ctrl-C. */
static int waitjob(lua_State *L) {
  clsh_await(L, isdone, lua_touserdata(L, 1),
             "the compiler cannot be stopped");
  return 0;
}

/*
** What clBuildProgram gives. Ctrl-C raises at once and takes the program's
** handle away: to release it, a driver may wait for its compiler.
*/
cl_int clsh_compile(lua_State *L, cl_program *handle, cl_device_id d,
                    const char *options) {
  cl_program p = *handle;
  Job *j = malloc(sizeof *j + strlen(options) + 1);
  if (j == NULL)
    return CL_OUT_OF_HOST_MEMORY;
  *j = (Job){.refs = 2, .program = p, .device = d};
  strcpy(j->options, options);
  lua_pushcfunction(L, waitjob);
  lua_pushlightuserdata(L, j);
  clRetainProgram(p);
  if (!start(j)) {
    lua_pop(L, 2);
    j->refs = 1;
    cl_int err = clBuildProgram(p, 1, &d, options, NULL, NULL);
    releasejob(j);
    return err;
  }
  int status = lua_pcall(L, 1, 0, 0);
  cl_int err = status == LUA_OK ? j->err : CL_SUCCESS;
  if (status != LUA_OK) {
    j->left = true;
    *handle = NULL;
  }
  releasejob(j);
  if (status != LUA_OK)
    lua_error(L);
  return err;
}
