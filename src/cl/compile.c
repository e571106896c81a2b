/*
** compile.c - compiles a Program, and raises with the compiler's log where
** that fails. The compiler has a thread of its own, so that Ctrl-C ends the
** wait: no driver's compiler can be stopped. An abandoned one goes on alone.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <ctype.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "object.h"
#include "process.h"
#include "program.h"

#define STACKSIZE ((size_t)8 << 20) /* bytes, as the main thread has */
#define EXPLAIN "cl.explain_build"  /* registry: see cl.explain_build */

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

int clsh_compile_running(void) {
  return clsh_fork_handsoff() ? 0 : running; /* the threads are the parent's */
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

/* Starts the thread, which gets no signals; false where that fails. */
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
  clsh_wait_until(L, isdone, lua_touserdata(L, 1),
                  "the compiler cannot be stopped");
  return 0;
}

/*
** The result of clBuildProgram. Ctrl-C raises at once and takes the program's
** handle away: to release it, a driver may wait for its compiler.
*/
static cl_int run(lua_State *L, Program *p, const char *options) {
  cl_device_id d = clsh_context_device(p->context);
  Job *j = malloc(sizeof *j + strlen(options) + 1);
  if (j == NULL)
    return CL_OUT_OF_HOST_MEMORY;
  *j = (Job){.refs = 2, .program = p->handle, .device = d};
  strcpy(j->options, options);
  lua_pushcfunction(L, waitjob);
  lua_pushlightuserdata(L, j);
  clRetainProgram(p->handle);
  if (!start(j)) {
    lua_pop(L, 2);
    j->refs = 1;
    cl_int err = clBuildProgram(p->handle, 1, &d, options, NULL, NULL);
    releasejob(j);
    return err;
  }
  int status = lua_pcall(L, 1, 0, 0);
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

/* Pushes the driver's build log, without white space at its end. */
static void pushlog(lua_State *L, const Program *p) {
  cl_device_id d = clsh_context_device(p->context);
  size_t size = 0;
  clGetProgramBuildInfo(p->handle, d, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
  char *text = lua_newuserdatauv(L, size + 1, 0);
  memset(text, 0, size + 1);
  clGetProgramBuildInfo(p->handle, d, CL_PROGRAM_BUILD_LOG, size, text, NULL);
  size_t n = strlen(text);
  while (n > 0 && isspace((unsigned char)text[n - 1]))
    n--;
  lua_pushlstring(L, text, n);
  lua_remove(L, -2);
}

/* Compiles once; keeps the options, and the log, which stays at the top. */
static cl_int compile(lua_State *L, int program, const char *options) {
  Program *p = clsh_program_check(L, program);
  int tries = 0;
  cl_int err;
  do
    err = run(L, p, options);
  while (clsh_error_retry(L, err, &tries));
  lua_pushstring(L, options);
  lua_setiuservalue(L, program, PROGRAM_OPTIONS);
  pushlog(L, p);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, program, PROGRAM_LOG);
  return err;
}

/*
** Raises for a build that failed, with the compiler's log at the top. See
** cl.explain_build for the fields of the error.
*/
static void failed(lua_State *L, int program, const char *source, bool istext,
                   cl_int err) {
  const char *log = lua_tostring(L, -1);
  lua_pushfstring(L, "clBuildProgram: %s (%d)%s%s", clsh_error_name(err),
                  (int)err, *log != '\0' ? "\n" : "", log);
  clsh_error_push(L, err, "clBuildProgram", lua_tostring(L, -1));
  int e = lua_gettop(L);
  lua_pushstring(L, log);
  lua_setfield(L, e, "log");
  lua_getiuservalue(L, program, PROGRAM_OPTIONS);
  lua_setfield(L, e, "options");
  lua_getiuservalue(L, program, PROGRAM_NAME);
  lua_setfield(L, e, "program");
  lua_getiuservalue(L, program, PROGRAM_CONTEXT);
  lua_getfield(L, -1, "device");
  lua_getfield(L, -1, "name");
  lua_setfield(L, e, "device");
  lua_pushstring(L, source);
  lua_setfield(L, e, "source");
  lua_pushboolean(L, istext);
  lua_setfield(L, e, "is_text");
  if (lua_getfield(L, LUA_REGISTRYINDEX, EXPLAIN) == LUA_TFUNCTION) {
    lua_pushvalue(L, e);
    (void)lua_pcall(L, 1, 0, 0); /* if that fails: the message as it is */
  }
  lua_settop(L, e);
  lua_error(L);
}

/*
** Builds the program at `program` with the options string at the top. With
** argument info, NVIDIA's driver (580.159) makes PTX that its assembler
** refuses where a kernel has no parameters: such a program is built again
** without, and its kernels then take explicit types.
*/
void clsh_compile_program(lua_State *L, int program, const char *source,
                          bool istext) {
  const char *options = lua_tostring(L, -1);
  assert(strncmp(options, CLSHELL_ARGINFO, strlen(CLSHELL_ARGINFO)) == 0);
  cl_int err = compile(L, program, options);
  if (err == CL_BUILD_PROGRAM_FAILURE &&
      strstr(lua_tostring(L, -1), "ptxas") != NULL)
    err = compile(L, program, options + strlen(CLSHELL_ARGINFO));
  if (err != CL_SUCCESS)
    failed(L, program, source, istext, err);
  clsh_program_check(L, program)->builds = 1;
  lua_settop(L, program);
}

/** cl.explain_build(f)
 * Has function `f` put the error of every failed build into words, before it
 * is raised: f(e) may set e.message and add fields. Without such a function
 * the message is the compiler's log. Fields of `e` besides those of every
 * error: log, options, device (its name), program (the path of the file or
 * the name of the text), source (the text), is_text (not from a file).
 */
static int cl_explainbuild(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, EXPLAIN);
  return 0;
}

void clsh_compile_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"explain_build", cl_explainbuild},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
