/*
** compiler.c - the driver's compiler and linker on a thread of its own, so
** that Ctrl-C ends the wait: no driver's compiler can be stopped. An abandoned
** thread goes on alone. During a build a file takes the standard error: lines
** that count errors and warnings are dropped, as the build log has the errors;
** other lines join the log, and are printed where the driver aborts. A build
** may begin early: the next build of the same text and options takes it. These
** come one after another, as the end of the program waits for one under way.
** SPDX-License-Identifier: MIT
*/
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"
#include "program.h"

#define PATIENCE 0.3 /* seconds of builds before `building` is told */
#define JOINED 2     /* seconds between builds that count together */
#define STACKSIZE ((size_t)8 << 20) /* bytes, as the main thread has */

volatile int clsh_compiler_stderr = STDERR_FILENO;

static FILE *said;      /* NULL: the standard error is as it was */
static char told[8192]; /* the lines of the last build; the rest is dropped */
static struct sigaction onabort;

/* The signal handler of abort(). The earlier action follows. */
static void spill(int sig) {
  char text[512];
  ssize_t n;
  lseek(STDERR_FILENO, 0, SEEK_SET);
  while ((n = read(STDERR_FILENO, text, sizeof text)) > 0 &&
         write(clsh_compiler_stderr, text, (size_t)n) == n)
    ;
  sigaction(sig, &onabort, NULL);
  raise(sig); /* once this handler has returned */
}

/* Has a file take the standard error; does nothing where there is no file. */
static void takestderr(void) {
  struct sigaction action = {.sa_handler = spill};
  told[0] = '\0';
  clsh_driver_keepfaults();
  int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  FILE *f = fd >= 0 ? tmpfile() : NULL;
  if (f == NULL || dup2(fileno(f), STDERR_FILENO) < 0) {
    if (f != NULL)
      fclose(f);
    if (fd >= 0)
      close(fd);
    return;
  }
  said = f;
  clsh_compiler_stderr = fd;
  sigemptyset(&action.sa_mask);
  sigaction(SIGABRT, &action, &onabort);
}

/* Whether a line is "2 warnings and 1 error generated." or the like. */
static bool counts(const char *line) {
  size_t n = strspn(line, "0123456789");
  return n > 0 &&
         (strncmp(line + n, " error", 6) == 0 ||
          strncmp(line + n, " warning", 8) == 0) &&
         strstr(line, " generated") != NULL;
}

/* Gives the standard error back. */
static void givestderr(void) {
  char line[512];
  size_t used = 0;
  clsh_driver_restorefaults();
  if (said == NULL)
    return;
  dup2(clsh_compiler_stderr, STDERR_FILENO);
  close(clsh_compiler_stderr);
  clsh_compiler_stderr = STDERR_FILENO;
  sigaction(SIGABRT, &onabort, NULL);
  rewind(said);
  while (fgets(line, sizeof line, said) != NULL)
    if (!counts(line) && used + strlen(line) < sizeof told) {
      strcpy(told + used, line);
      used += strlen(line);
    }
  fclose(said);
  said = NULL;
}

/* The lines that the driver wrote to the standard error in the last build. */
const char *clsh_compiler_told(void) {
  return told;
}

typedef struct Job {
  atomic_int refs; /* of the thread and of the waiting caller */
  atomic_bool done;
  cl_program program; /* of a link: its result */
  bool abandoned; /* the caller's reference to the program is the job's too */
  cl_device_id device;
  cl_context context;
  int making;
  cl_uint n; /* parts: headers with names, or Programs to link */
  cl_program *parts;
  char **names;
  cl_int err;
  uint64_t key;     /* of an early build; else 0 */
  struct Job *next; /* in the list of early builds */
  atomic_bool begun;
  _Atomic(struct Job *) then; /* the thread's next job; itself: none came */
  char options[];
} Job;

static Job *early; /* the latest first */

static atomic_int running; /* threads at work */
static atomic_int ahead;   /* those of early builds among them */

/* The number of threads at work; after a fork they are the parent's. */
int clsh_compiler_running(void) {
  return clsh_driver_handsoff() ? 0 : running;
}

static void releasejob(Job *j) {
  if (atomic_fetch_sub(&j->refs, 1) != 1)
    return;
  if (j->program != NULL)
    clReleaseProgram(j->program);
  if (j->abandoned && j->making < LINK)
    clReleaseProgram(j->program);
  for (cl_uint i = 0; i < j->n; i++) {
    clReleaseProgram(j->parts[i]);
    free(j->names[i]);
  }
  free(j->parts);
  free(j->names);
  free(j);
}

/* A hash of what an early build and a later build must have in common. */
static uint64_t keyof(lua_State *L, int program, const char *options) {
  const Program *p = clsh_program_check(L, program);
  uint64_t h = clsh_source_hash(0, options, strlen(options) + 1);
  h = clsh_source_hash(h, &p->context->handle, sizeof p->context->handle);
  for (int i = PROGRAM_DEFINES; i <= PROGRAM_SOURCE; i++) {
    size_t n = 0;
    lua_getiuservalue(L, program, i);
    const char *s = lua_tolstring(L, -1, &n);
    if (i != PROGRAM_NAME)
      h = clsh_source_hash(h, s != NULL ? s : "", n);
    lua_pop(L, 1);
  }
  return h;
}

/* Takes an early build that began, with its program, for `p`; or NULL. */
static Job *takeearly(Program *p, uint64_t key) {
  for (Job **at = &early; *at != NULL; at = &(*at)->next)
    if ((*at)->key == (key | 1)) {
      Job *j = *at;
      *at = j->next;
      if (!atomic_exchange(&j->begun, true)) {
        releasejob(j);
        return NULL;
      }
      clReleaseProgram(p->handle);
      p->handle = j->program;
      clRetainProgram(p->handle);
      return j;
    }
  return NULL;
}

/*
** Waits for the early build under way, as drivers crash where the process ends
** meanwhile; no other one begins.
*/
static void atend(void) {
  if (clsh_driver_handsoff())
    return;
  for (Job *j = early; j != NULL; j = j->next)
    j->begun = true;
  while (ahead > 0)
    clsh_poll_nap(1e-3);
  while (early != NULL) {
    Job *j = early;
    early = j->next;
    releasejob(j);
  }
}

/* Does the job. A driver without linker may give anything as a program. */
static void make(Job *j) {
  if (j->making == BUILD) {
    j->err = clBuildProgram(j->program, 1, &j->device, j->options, NULL, NULL);
  } else if (j->making == COMPILE) {
    j->err = clCompileProgram(j->program, 1, &j->device, j->options, j->n,
                              j->n > 0 ? j->parts : NULL,
                              j->n > 0 ? (const char **)j->names : NULL, NULL,
                              NULL);
  } else {
    j->err = CL_INVALID_OPERATION;
    cl_program p = clLinkProgram(j->context, 1, &j->device, j->options, j->n,
                                 j->parts, NULL, NULL, &j->err);
    if (j->err == CL_SUCCESS || j->err == CL_LINK_PROGRAM_FAILURE)
      j->program = p;
  }
}

/* Gives the job the parts of the Program at `program`; false: no memory. */
static bool addparts(lua_State *L, int program, Job *j) {
  lua_getiuservalue(L, program, PROGRAM_PARTS);
  lua_getiuservalue(L, program, PROGRAM_NAMES);
  int names = lua_gettop(L);
  cl_uint n =
      lua_istable(L, names - 1) ? (cl_uint)lua_rawlen(L, names - 1) : 0;
  j->parts = calloc(n + 1, sizeof *j->parts);
  j->names = calloc(n + 1, sizeof *j->names);
  for (; j->parts != NULL && j->names != NULL && j->n < n; j->n++) {
    lua_rawgeti(L, names - 1, (lua_Integer)j->n + 1);
    const Program *part = lua_touserdata(L, -1);
    if (lua_istable(L, names)) {
      lua_rawgeti(L, names, (lua_Integer)j->n + 1);
      if ((j->names[j->n] = strdup(lua_tostring(L, -1))) == NULL)
        break;
    }
    j->parts[j->n] = part->handle;
    clRetainProgram(part->handle);
    lua_settop(L, names);
  }
  lua_settop(L, names - 2);
  return j->names != NULL && j->n == n;
}

/*
** LLVM gives the thread that it first runs on an alternate signal stack, anew
** after each signal that its handlers saw. The thread takes its own stack
** back, as a sanitizer frees the stack that it finds at the end.
*/
static void *work(void *arg) {
  Job *j = arg;
  stack_t own;
  bool known = sigaltstack(NULL, &own) == 0, isearly = j->key != 0;
  while (j != NULL) {
    if (!atomic_exchange(&j->begun, true)) {
      make(j);
      if (known)
        sigaltstack(&own, NULL);
      j->done = true;
    }
    Job *then = atomic_exchange(&j->then, j);
    releasejob(j);
    j = then;
  }
  running--;
  ahead -= isearly;
  return NULL;
}

/* The compiler of the simulator refuses OpenCL C 3.0, by the extensions that
** the simulator has, and takes such sources as OpenCL C 2.0. */
static void lowerstd(char *options) {
  static const char three[] = "-cl-std=CL3.0";
  for (char *s = options; (s = strstr(s, three)) != NULL;)
    s[sizeof three - 4] = '2';
}

/* A wait for a job, until the hook `building` is to be told. */
typedef struct Wait {
  const Job *job;
  double until;
} Wait;

static double since, ended; /* the first and the last of the latest builds */
static bool saidso;         /* the hook was told of the build under way */

static bool isdone(void *arg) {
  const Wait *w = arg;
  return w->job->done || clsh_poll_now() > w->until;
}

/* Tells the hook `building` the name at the top, or nil, which it pops. */
static void tell(lua_State *L) {
  if (clsh_hook_push(L, "building") != LUA_TFUNCTION) {
    lua_pop(L, 2);
    return;
  }
  lua_insert(L, -2);
  lua_pushinteger(L, clsh_compiler_stderr);
  if (lua_pcall(L, 2, 0, 0) != LUA_OK)
    lua_pop(L, 1);
}

/*
** Protected, with the job and its name as arguments: waits, or raises at
** Ctrl-C.
*/
static int waitjob(lua_State *L) {
  Wait w = {lua_touserdata(L, 1), since + PATIENCE};
  for (; !w.job->done; w.until = HUGE_VAL) {
    clsh_poll_until(L, isdone, &w, "the compiler cannot be stopped");
    if (w.job->done)
      break;
    saidso = true;
    tell(L);
  }
  return 0;
}

/* Ends a job that was done; gives the result of a link to the program. */
static cl_int finish(Job *j, Program *p) {
  cl_int err = j->err;
  if (err == CL_SUCCESS && j->program == NULL)
    err = CL_LINK_PROGRAM_FAILURE;
  if (j->making >= LINK && j->program != NULL) {
    if (p->handle != NULL) /* the result of a first try */
      clReleaseProgram(p->handle);
    p->handle = j->program;
    clRetainProgram(p->handle);
  }
  releasejob(j);
  return err;
}

/* A job for a program, of the caller alone; NULL: no memory. */
static Job *newjob(lua_State *L, int program, const char *options) {
  Program *p = clsh_program_check(L, program);
  Job *j = malloc(sizeof *j + strlen(options) + 1);
  if (j == NULL)
    return NULL;
  *j = (Job){.refs = 1,
             .device = p->context->device,
             .context = p->context->handle,
             .making = p->making};
  strcpy(j->options, options);
  clsh_source_dropquoted(j->options);
  if (p->context->limits.simulated)
    lowerstd(j->options);
  if (!addparts(L, program, j)) {
    releasejob(j);
    return NULL;
  }
  if (p->making < LINK) {
    j->program = p->handle;
    clRetainProgram(p->handle);
  }
  return j;
}

/* Starts the thread of a job; false: there is none. */
static bool start(Job *j, const Program *p) {
  if (p->context->limits.simulated)
    return false;
  j->refs = 2;
  running++;
  ahead += j->key != 0;
  if (clsh_driver_thread(work, j, STACKSIZE))
    return true;
  running--;
  ahead -= j->key != 0;
  j->refs = 1;
  return false;
}

/* Begins the build of a program once, and takes its handle away. */
void clsh_compiler_begin(lua_State *L, int program, const char *options) {
  static bool registered;
  Program *p = clsh_program_check(L, program);
  uint64_t key = keyof(L, program, options);
  for (const Job *j = early; j != NULL; j = j->next)
    if (j->key == (key | 1))
      return;
  if (p->context->limits.simulated ||
      (!registered && !(registered = atexit(atend) == 0)))
    return;
  Job *j = newjob(L, program, options);
  if (j == NULL)
    return;
  j->key = key | 1;
  j->refs = 2;
  Job *none = NULL; /* behind the latest, if its thread goes on */
  if ((early == NULL ||
       !atomic_compare_exchange_strong(&early->then, &none, j)) &&
      !start(j, p)) {
    j->refs = 1;
    releasejob(j);
    return;
  }
  clReleaseProgram(p->handle); /* the job has a reference */
  p->handle = NULL;
  j->next = early;
  early = j;
}

/*
** The result of the driver's build, compile or link. Oclgrind 21.10 builds on
** the thread that made the context, else it crashes. Ctrl-C raises at once and
** takes the program's handle away: to release it, a driver may wait for its
** compiler.
*/
cl_int clsh_compiler_run(lua_State *L, int program, const char *options) {
  Program *p = clsh_program_check(L, program);
  Job *j = early != NULL && p->making == BUILD
               ? takeearly(p, keyof(L, program, options))
               : NULL;
  bool begun = j != NULL;
  if (!begun)
    j = newjob(L, program, options);
  if (j == NULL)
    return CL_OUT_OF_HOST_MEMORY;
  lua_pushcfunction(L, waitjob);
  lua_pushlightuserdata(L, j);
  lua_getiuservalue(L, program, PROGRAM_NAME);
  since = clsh_poll_now() - ended > JOINED ? clsh_poll_now() : since;
  takestderr();
  if (!begun && !start(j, p)) {
    lua_pop(L, 3);
    make(j);
    givestderr();
    return finish(j, p);
  }
  int status = lua_pcall(L, 2, 0, 0);
  givestderr();
  ended = clsh_poll_now();
  cl_int err = CL_SUCCESS;
  if (status == LUA_OK)
    err = finish(j, p);
  else {
    j->abandoned = true;
    if (p->making < LINK)
      p->handle = NULL;
    releasejob(j);
  }
  if (saidso) { /* last, as it may raise for lack of memory */
    saidso = false;
    lua_pushnil(L);
    tell(L);
  }
  if (status == LUA_OK)
    return err;
  return lua_error(L);
}
