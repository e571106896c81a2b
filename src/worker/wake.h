/*
** wake.h - how the program and the worker wait for each other: each looks for
** a while, then sleeps until the other side wakes it
** SPDX-License-Identifier: MIT
*/
#ifndef wake_h
#define wake_h

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

static inline void wake_sleep(_Atomic uint32_t *a, uint32_t value, long ns) {
  struct timespec t = {0, ns};
  syscall(SYS_futex, a, FUTEX_WAIT, value, ns > 0 ? &t : NULL, NULL, 0);
}

static inline void wake_other(_Atomic uint32_t *a) {
  syscall(SYS_futex, a, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Rounds that a waiting side looks before it sleeps: some 30 us. */
#define WAKE_SPIN 1000

static inline void wake_pause(void) {
#if defined __x86_64__ || defined __i386__
  __builtin_ia32_pause();
#else
  atomic_signal_fence(memory_order_seq_cst);
#endif
}

/*
** Waits until *a is no longer `old`, or in rounds of ns nanoseconds (0: for
** good). `bit` tells the other side that a wake is needed.
*/
static inline bool wake_await(Wire *w, _Atomic uint32_t *a, uint32_t old,
                              uint32_t bit, long ns) {
  for (int i = 0; i < WAKE_SPIN; i++) {
    if (atomic_load_explicit(a, memory_order_acquire) != old)
      return true;
    wake_pause();
  }
  atomic_fetch_or(&w->asleep, bit);
  if (atomic_load(a) == old)
    wake_sleep(a, old, ns);
  atomic_fetch_and(&w->asleep, ~bit);
  return atomic_load(a) != old;
}

/* Counts *a on, for the other side. */
static inline void wake_post(Wire *w, _Atomic uint32_t *a, uint32_t bit) {
  atomic_fetch_add(a, 1);
  if (atomic_load(&w->asleep) & bit)
    wake_other(a);
}

#endif
