/*
** channel.c - the worker as a process: its start, messages, its end.
** SPDX-License-Identifier: MIT
*/
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel.h"
#include "wake.h"

#define NAP 20000000 /* ns between two looks whether the worker lives */

Channel clsh_channel;

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pid_t worker; /* 0: none runs */
static int life = -1;
static uint32_t sent; /* messages to this worker */
static bool forked;

static void inchild(void) {
  forked = true;
}

void clsh_channel_lock(void) {
  pthread_mutex_lock(&mutex);
}

void clsh_channel_unlock(void) {
  pthread_mutex_unlock(&mutex);
}

bool clsh_channel_usable(void) {
  return !forked;
}

#define KEPT "CLSHELL_" /* before the name: what the user's variable is */

/*
** The environment of the worker: ours, but with the user's drivers. While this
** driver is loaded, CLSHELL_OCL_ICD_... is what OCL_ICD_... was; "": unset.
*/
static char **newenviron(void) {
  static const char name[] = "OCL_ICD_", kept[] = KEPT "OCL_ICD_";
  bool swapped = getenv(KEPT "OCL_ICD_VENDORS") != NULL;
  size_t n = 0;
  while (environ[n] != NULL)
    n++;
  char **list = calloc(n + 1, sizeof *list);
  if (list == NULL)
    return NULL;
  n = 0;
  for (char **e = environ; *e != NULL; e++) {
    const char *value = strchr(*e, '=');
    if (strncmp(*e, kept, sizeof kept - 1) != 0) {
      if (!swapped || strncmp(*e, name, sizeof name - 1) != 0)
        list[n++] = *e;
    } else if (value != NULL && value[1] != '\0')
      list[n++] = *e + strlen(KEPT);
  }
  return list;
}

/* Notes the end of the worker, with the status of waitpid. */
static void ended(int status, uint32_t op) {
  worker = 0;
  close(life);
  life = -1;
  clsh_channel.status = status;
  clsh_channel.op = op;
  if (clsh_channel.ended != NULL)
    clsh_channel.ended();
}

/* Looks whether the worker has ended, by itself, in message op or none. */
static bool look(uint32_t op) {
  int status = 0;
  if (worker == 0)
    return true;
  pid_t p = waitpid(worker, &status, WNOHANG);
  if (p == 0 || (p < 0 && errno == EINTR))
    return false;
  ended(status, op);
  return true;
}

void clsh_channel_look(void) {
  look(OP_LAUNCH);
}

/* Kills the worker: a device has faulted in it, or the user wants that. */
void clsh_channel_end(void) {
  int status = 0;
  if (worker == 0)
    return;
  kill(worker, SIGKILL);
  while (waitpid(worker, &status, 0) < 0 && errno == EINTR)
    ;
  ended(CHANNEL_KILLED, OP_LAUNCH);
}

/* Starts this program again, as a worker on the shared memory. */
static bool spawn(void) {
  char *argv[] = {"clshell", "--driver", NULL};
  int ends[2];
  sigset_t none;
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attr;
  if (pipe2(ends, O_CLOEXEC) != 0)
    return false;
  int input = fcntl(ends[0], F_DUPFD_CLOEXEC, 10);
  life = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
  close(ends[0]);
  close(ends[1]);
  char **env = newenviron();
  sigemptyset(&none);
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attr);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY,
                                   0);
  posix_spawn_file_actions_adddup2(&files, clsh_heap_fd, WIRE_MEMORY);
  posix_spawn_file_actions_adddup2(&files, input, WIRE_LIFE);
  posix_spawnattr_setsigmask(&attr, &none);
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
  bool started =
      input >= 0 && life >= 0 && env != NULL &&
      posix_spawn(&worker, "/proc/self/exe", &files, &attr, argv, env) == 0;
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attr);
  free(env);
  close(input);
  if (!started) {
    close(life);
    life = -1;
    worker = 0;
  }
  return started;
}

/* Starts a worker, unless one runs, and has it find platforms and devices. */
bool clsh_channel_start(void) {
  Wire *w = clsh_heap_wire;
  if (worker != 0)
    return true;
  if (clsh_channel.generation == 0) {
    if (getenv(KEPT "OCL_ICD_VENDORS") == NULL)
      return false; /* not loaded by clshell: the worker would load it again */
    pthread_atfork(NULL, NULL, inchild);
  }
  atomic_store(&w->request, 0);
  atomic_store(&w->answer, 0);
  atomic_store(&w->asleep, 0);
  sent = 0;
  if (!spawn())
    return false;
  clsh_channel.generation++;
  wire_begin(wire_out(w, 0), OP_PLATFORMS);
  return clsh_channel_call() == CL_SUCCESS;
}

/*
** Waits until at most `left` messages are without an answer; false: the worker
** has ended.
*/
static bool await(uint32_t op, uint32_t left) {
  Wire *w = clsh_heap_wire;
  uint32_t done;
  while (sent - (done = atomic_load(&w->answer)) > left) {
    if (!wake_await(w, &w->answer, done, 2, NAP) && look(op))
      return false;
  }
  return worker != 0;
}

/* A message, to be filled in. It waits for room among those posted. */
Message *clsh_channel_begin(uint32_t op) {
  if (worker != 0)
    await(OP_LAUNCH, WIRE_RING - 1);
  Message *m = wire_out(clsh_heap_wire, sent);
  wire_begin(m, op);
  return m;
}

static void send(void) {
  sent++;
  wake_post(clsh_heap_wire, &clsh_heap_wire->request, 1);
}

/* Sends the message. WORKER_DIED: the worker ended before it answered. */
cl_int clsh_channel_call(void) {
  Message *m = wire_out(clsh_heap_wire, sent);
  if (worker == 0)
    return WORKER_DIED;
  if (m->err != CL_SUCCESS)
    return m->err;
  send();
  return await(m->op, 0) ? wire_in(clsh_heap_wire)->err : WORKER_DIED;
}

/*
** Sends the message and does not wait. A command that is refused nevertheless
** has the error in its slot.
*/
cl_int clsh_channel_post(void) {
  Message *m = wire_out(clsh_heap_wire, sent);
  if (worker == 0)
    return WORKER_DIED;
  if (m->err != CL_SUCCESS)
    return m->err;
  m->posted = 1;
  send();
  return CL_SUCCESS;
}
