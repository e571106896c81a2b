/*
** crash.c - tells which launch crashed the process, before it ends. A driver
** of the CPU runs kernels in this process: a store outside a buffer ends it.
** The report is made without memory allocation or locks. Then a prompt begins
** anew; elsewhere the signal takes the way that it had without this file: to
** the sanitizer's report, a core file, and the same exit status.
** SPDX-License-Identifier: MIT
*/
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "cl/cl.h"
#include "shell.h"

#define STACK ((size_t)64 << 10) /* of the handler, bytes */
#define PATIENCE 50              /* ms for the main thread to halt */

static const struct {
  int number;
  const char *name;
} signals[] = {{SIGABRT, "SIGABRT (abort)"},
               {SIGBUS, "SIGBUS (a bad address)"},
               {SIGFPE, "SIGFPE (an arithmetic fault)"},
               {SIGILL, "SIGILL (an illegal instruction)"},
               {SIGSEGV, "SIGSEGV (a bad address)"}};
#define NSIGNALS (sizeof signals / sizeof signals[0])

static struct sigaction before[NSIGNALS];
static char text[4096];    /* the report */
static const char *script; /* NULL: none */
static pthread_t mainthread;
static atomic_bool halted; /* the main thread has halted */

static void put(int fd, const char *s, size_t n) {
  while (n > 0) {
    ssize_t k = write(fd, s, n);
    if (k <= 0)
      return;
    s += k;
    n -= (size_t)k;
  }
}

/* Ends the journal with the report, as comments. */
static void keep(int journal, const Text *t) {
  lseek(journal, 0, SEEK_END);
  for (const char *s = text + 1, *end; s < t->at; s = end + 1) {
    end = memchr(s, '\n', (size_t)(t->at - s));
    if (end == NULL)
      break;
    put(journal, "-- ", 3);
    put(journal, s, (size_t)(end + 1 - s));
  }
}

/*
** Writes the signal, the launches under way, and the next step. The program
** that begins `again` asks for the inputs itself.
*/
static void report(size_t which, bool again) {
  Text t = {text, text + sizeof text};
  const char *name;
  int journal = clsh_journal_file(&name);
  clsh_flight_add(&t, "\n" PROGRAM ": ended by ");
  clsh_flight_add(&t, signals[which].name);
  clsh_flight_add(&t, "\n");
  if (clsh_flight_tell(&t)) {
    clsh_flight_add(&t, "  for stores outside a buffer see ");
    clsh_flight_add(&t, script != NULL ? PROGRAM " --memcheck "
                                       : "check(launch, ...)");
    clsh_flight_add(&t, script != NULL ? script : "");
    clsh_flight_add(&t, "\n");
  } else
    clsh_flight_add(&t, "  no kernel has been launched\n");
  if (journal >= 0)
    keep(journal, &t);
  if (journal >= 0 && !again) {
    clsh_flight_add(&t, "  the inputs are saved: %restore in a new session "
                        "runs them, or\n    " PROGRAM " ");
    clsh_flight_add(&t, name);
    clsh_flight_add(&t, "\n");
  }
  put(clsh_compiler_stderr, text, (size_t)(t.at - text));
}

/*
** Has the main thread wait for the end, lest it write to the terminal that is
** put right, or change its mode.
*/
static void halt(void) {
  if (pthread_equal(pthread_self(), mainthread) ||
      pthread_kill(mainthread, SIGBUS) != 0)
    return;
  for (int i = 0; i < PATIENCE && !halted; i++)
    clsh_poll_nap(1e-3);
}

/* Whether another process has sent the signal, to end this process. */
static bool issent(const siginfo_t *info) {
  return info->si_code <= 0 && info->si_pid != getpid();
}

/*
** The first thread that faults reports; others wait for the end. At a prompt
** the program begins anew then. Elsewhere the instruction faults again, or the
** signal is sent again, and meets its earlier action.
*/
static void onsignal(int sig, siginfo_t *info, void *unused) {
  static atomic_flag taken = ATOMIC_FLAG_INIT;
  static pthread_t reporter;
  size_t which = 0;
  (void)unused;
  while (which < NSIGNALS - 1 && signals[which].number != sig)
    which++;
  if (!atomic_flag_test_and_set(&taken)) {
    reporter = pthread_self();
    signal(SIGPIPE, SIG_IGN); /* SIGPIPE would end the process instead */
    bool again = !issent(info) && clsh_restart_able();
    if (again)
      halt();
    clsh_interrupt_restoreterminal();
    report(which, again);
    if (again)
      clsh_restart_crashed();
  } else if (!pthread_equal(reporter, pthread_self())) {
    if (pthread_equal(pthread_self(), mainthread))
      halted = true;
    for (;;)
      pause();
  }
  for (size_t i = 0; i < NSIGNALS; i++)
    sigaction(signals[i].number, &before[i], NULL);
  if (sig == SIGABRT || info->si_code <= 0)
    raise(sig);
}

/* Notes the running script's name, or NULL, for the report; it must stay. */
void clsh_crash_script(const char *name) {
  script = name;
}

/* Takes over the signals of a crash. */
void clsh_crash_open(void) {
  static char stack[STACK];
  stack_t own = {.ss_sp = stack, .ss_size = sizeof stack}, old;
  struct sigaction action;
  mainthread = pthread_self();
  if (sigaltstack(NULL, &old) == 0 && (old.ss_flags & SS_DISABLE) != 0)
    sigaltstack(&own, NULL);
  memset(&action, 0, sizeof action);
  action.sa_sigaction = onsignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < NSIGNALS; i++)
    sigaction(signals[i].number, &action, &before[i]);
}
