/*
** interrupt.c - Ctrl-C: stops running Lua code, wherever it runs.
** The signal handler runs no Lua. It sets clsh_interrupt, which waits in C
** poll, and a hook in the running thread, which raises at the next
** instruction. A hook that was always there would cost half the speed.
** SPDX-License-Identifier: MIT
*/
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <lualib.h>

#include "clshell.h"
#include "repl.h"

#define MESSAGE "interrupted!"
#define GRACE 1000 /* instructions for __close handlers after a raise */

static lua_State *volatile running;   /* the thread to stop */
static volatile sig_atomic_t pending; /* since the signal, to the end of
                                         the run it interrupts */
static volatile sig_atomic_t raises;  /* in this run, so far */
static volatile sig_atomic_t presses; /* not yet delivered */
static double warned;                 /* when the third was explained */
static pthread_t mainthread;
static struct termios terminal; /* as it was at the start */
static bool hasterminal, installed;

static void stop(lua_State *L, lua_Debug *ar);

/*
** The first two raises leave a moment to clean up. From the third on every
** instruction raises, so that no loop around pcall outlives it.
*/
static void arm(lua_State *L) {
  int count = raises == 1 || raises == 2 ? GRACE : 1;
  lua_sethook(L, stop, LUA_MASKCOUNT, count);
}

/* The same for a thread that may be armed: its count goes on. */
static void join(lua_State *L) {
  if (pending && lua_gethook(L) != stop)
    arm(L);
}

static void stop(lua_State *L, lua_Debug *ar) {
  (void)ar;
  if (!pending) { /* left from an earlier run of this coroutine */
    lua_sethook(L, NULL, 0, 0);
    return;
  }
  bool delivered = clsh_interrupt == 0 && raises == 0; /* by a wait in C */
  clsh_interrupt = 0;
  raises = raises < 3 ? raises + 1 : 3;
  arm(L);
  if (delivered)
    return;
  clsh_pusherror(L, CL_SUCCESS, NULL, MESSAGE);
  lua_error(L);
}

static void say(const char *text) {
  ssize_t n = write(STDERR_FILENO, text, strlen(text));
  (void)n;
}

/*
** Counts the signals that wait to be delivered. The second explains what a
** third does; a key held down does not get that far.
*/
static void pressed(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  double now = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
  if (clsh_interrupt == 0)
    presses = 0;
  presses = presses < 3 ? presses + 1 : 3;
  if (presses == 2) {
    warned = now;
    say("\nclshell: inside a call that does not stop;"
        " Ctrl-C again quits the program\n");
  }
  if (presses < 3 || now < warned + 0.5)
    return;
  if (hasterminal)
    tcsetattr(STDIN_FILENO, TCSANOW, &terminal);
  _exit(EXIT_INTERRUPT);
}

static void onsignal(int sig) {
  int saved = errno;
  if (!pthread_equal(pthread_self(), mainthread)) {
    pthread_kill(mainthread, sig); /* a thread of a driver got it */
    errno = saved;
    return;
  }
  pressed();
  clsh_interrupt = 1;
  pending = 1;
  lua_sethook(running, stop, LUA_MASKCOUNT, 1);
  errno = saved;
}

/*
** Resumes `co` with narg arguments from the top of L, as lcorolib.c does,
** and lets the handler know. Returns the number of results, -1 for an error.
*/
static int resume(lua_State *L, lua_State *co, int narg) {
  int nres;
  if (!lua_checkstack(co, narg)) {
    lua_pushliteral(L, "too many arguments to resume");
    return -1;
  }
  lua_xmove(L, co, narg);
  running = co;
  join(co);
  int status = lua_resume(co, L, narg, &nres);
  running = L;
  join(L);
  if (status != LUA_OK && status != LUA_YIELD) {
    lua_xmove(co, L, 1);
    return -1;
  }
  if (!lua_checkstack(L, nres + 1)) {
    lua_pop(co, nres);
    lua_pushliteral(L, "too many results to resume");
    return -1;
  }
  lua_xmove(co, L, nres);
  return nres;
}

static int coroutine_resume(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  luaL_argexpected(L, co != NULL, 1, "coroutine");
  int n = resume(L, co, lua_gettop(L) - 1);
  lua_pushboolean(L, n >= 0);
  if (n < 0)
    n = 1;
  lua_insert(L, -(n + 1));
  return n + 1;
}

/* What coroutine.wrap returns; errors pass through, as in lcorolib.c. */
static int wrapped(lua_State *L) {
  lua_State *co = lua_tothread(L, lua_upvalueindex(1));
  int n = resume(L, co, lua_gettop(L));
  if (n >= 0)
    return n;
  int status = lua_status(co);
  if (status != LUA_OK && status != LUA_YIELD) { /* failed, not misused */
    status = lua_resetthread(co); /* runs __close, keeps the error */
    lua_xmove(co, L, 1);
  }
  if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
    luaL_where(L, 1);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

static int coroutine_wrap(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_State *co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  lua_pushcclosure(L, wrapped, 1);
  return 1;
}

/* Whether the value at `idx` is the error that an interrupt raises. */
bool clsh_isinterrupt(lua_State *L, int idx) {
  lua_pushvalue(L, idx);
  if (lua_type(L, -1) == LUA_TTABLE) {
    lua_pushliteral(L, "message");
    lua_rawget(L, -2);
    lua_remove(L, -2);
  }
  size_t len = 0;
  size_t tail = sizeof MESSAGE - 1;
  const char *s =
      lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &len) : NULL;
  bool yes = len >= tail && memcmp(s + len - tail, MESSAGE, tail) == 0;
  lua_pop(L, 1);
  return yes;
}

/* Forgets an interrupt: what it was meant for is over. */
void clsh_endinterrupt(lua_State *L) {
  running = L;
  pending = 0;
  raises = 0;
  presses = 0;
  clsh_interrupt = 0;
  if (lua_gethook(L) == stop)
    lua_sethook(L, NULL, 0, 0);
}

/*
** For cl.undisturbed: 0 puts an interrupt off, what that returned puts it on
** again, unless another one has come meanwhile.
*/
static int swap(lua_State *L, int state) {
  int before = pending ? raises + 1 : 0;
  if (state == 0)
    clsh_endinterrupt(L);
  else if (!pending) {
    raises = state - 1;
    pending = 1;
    arm(L);
  }
  return before;
}

/*
** Ctrl-C kills again, as when the program began; also after a driver's
** compiler has put its own handler in front of ours.
*/
void clsh_closeinterrupt(void) {
  if (installed)
    signal(SIGINT, SIG_DFL);
}

/*
** Takes over SIGINT, unless the parent wants it ignored, and the two
** functions of module coroutine that change the running thread. No
** SA_RESTART: a read that waits for the keyboard gives up.
*/
void clsh_openinterrupt(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"resume", coroutine_resume}, {"wrap", coroutine_wrap}, {NULL, NULL}};
  lua_getglobal(L, LUA_COLIBNAME);
  luaL_setfuncs(L, functions, 0);
  lua_pop(L, 1);
  mainthread = pthread_self();
  clsh_swapinterrupt = swap;
  hasterminal = tcgetattr(STDIN_FILENO, &terminal) == 0;
  clsh_endinterrupt(L);
  struct sigaction action;
  if (sigaction(SIGINT, NULL, &action) != 0 || action.sa_handler == SIG_IGN)
    return;
  memset(&action, 0, sizeof action);
  action.sa_handler = onsignal;
  sigemptyset(&action.sa_mask);
  installed = sigaction(SIGINT, &action, NULL) == 0;
}
