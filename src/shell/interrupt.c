/*
** interrupt.c - Ctrl-C: stops running Lua code, wherever it runs. The signal
** handler runs no Lua. It sets clsh_poll_interrupt, which waits in C poll,
** and a hook in the running thread, which raises at the next instruction. A
** permanent hook would cost half the speed. Lua runs no hook in finalizers and
** in hook functions of debug.sethook; a loop there ends only with the program,
** at the third Ctrl-C.
** SPDX-License-Identifier: MIT
*/
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <lualib.h>

#include "cl/cl.h"
#include "shell.h"

#define MESSAGE "interrupted!"
#define GRACE 1000 /* instructions for __close handlers after a raise */

static lua_State *volatile running; /* the thread to stop */
static volatile sig_atomic_t
    pending; /* from the signal to the end of the run */
static volatile sig_atomic_t raises;  /* in this run, so far */
static volatile sig_atomic_t presses; /* not yet delivered */
static double warned; /* the time when the third was explained */
static pthread_t mainthread;
static struct termios terminal; /* as it was at the start */
static bool hasterminal, installed;
static volatile sig_atomic_t closed; /* the state is closed or soon will be */
static bool escapes; /* standard output is a terminal with escape codes */

/* Library functions that are replaced here, and xpcall. */
static lua_CFunction closecoroutine, execute, sethook, xpcall;

/* The user's hook, which the hook here has replaced. */
static struct {
  lua_State *volatile thread;
  volatile lua_Hook hook;
  volatile int mask, count;
} user;

static void stop(lua_State *L, lua_Debug *ar);

/*
** The first two raises leave a moment to clean up. From the third on every
** instruction raises, so that no loop around pcall outlives it.
*/
static void arm(lua_State *L) {
  int count = raises == 1 || raises == 2 ? GRACE : 1;
  lua_sethook(L, stop, LUA_MASKCOUNT, count);
}

/* Arms a thread, unless it is armed: its count goes on. */
static void join(lua_State *L) {
  if (pending && lua_gethook(L) != stop)
    arm(L);
}

/* The message handler that replaces the handler of an interrupted xpcall. */
static int passthrough(lua_State *L) {
  (void)L;
  return 1;
}

/*
** Keeps interrupts from message handlers in Lua: such a handler would run
** inside the hook, where no other hook runs, and could loop there for ever.
*/
static void unhandle(lua_State *L) {
  lua_Debug ar;
  for (int level = 0; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "f", &ar);
    bool handler = xpcall != NULL && lua_tocfunction(L, -1) == xpcall &&
                   lua_getlocal(L, &ar, 2) != NULL;
    bool inlua = handler && !lua_iscfunction(L, -1);
    lua_pop(L, handler ? 2 : 1);
    if (inlua) {
      lua_pushcfunction(L, passthrough);
      if (lua_setlocal(L, &ar, 2) == NULL)
        lua_pop(L, 1);
    }
  }
}

static void stop(lua_State *L, lua_Debug *ar) {
  (void)ar;
  if (!pending) { /* left from an earlier run of this coroutine */
    lua_sethook(L, NULL, 0, 0);
    return;
  }
  /* a wait in C has raised */
  bool delivered = clsh_poll_interrupt == 0 && raises == 0;
  clsh_poll_interrupt = 0;
  raises = raises < 3 ? raises + 1 : 3;
  arm(L);
  if (delivered)
    return;
  unhandle(L);
  clsh_poll_raise(L, NULL);
}

static void say(const char *text) {
  ssize_t n = write(clsh_compiler_stderr, text, strlen(text));
  (void)n;
}

/*
** Resets the terminal: echo, no bracketed paste, a visible cursor. May be
** called in signal handlers.
*/
void clsh_interrupt_restoreterminal(void) {
  if (hasterminal)
    tcsetattr(STDIN_FILENO, TCSANOW, &terminal);
  const char *text = "\033[?2004l\033[?25h\033[0m";
  if (escapes && write(STDOUT_FILENO, text, strlen(text)) < 0)
    escapes = false;
}

/*
** Counts the signals that are not delivered yet. The second explains the
** third, which ends the program, unless the key is held down.
*/
static void pressed(void) {
  double now = clsh_poll_now();
  if (clsh_poll_interrupt == 0)
    presses = 0;
  presses = presses < 3 ? presses + 1 : 3;
  if (presses == 2) {
    warned = now;
    say("\nclshell: inside a call that does not stop;"
        " Ctrl-C again quits the program\n");
  }
  if (presses < 3 || now < warned + 0.5)
    return;
  clsh_interrupt_restoreterminal();
  _exit(EXIT_INTERRUPT);
}

/* Has the running thread stop at its next instruction. */
static void hookin(lua_State *L) {
  lua_Hook hook = lua_gethook(L);
  if (hook != NULL && hook != stop) {
    user.hook = hook;
    user.mask = lua_gethookmask(L);
    user.count = lua_gethookcount(L);
    user.thread = L;
  }
  lua_sethook(L, stop, LUA_MASKCOUNT, 1);
}

/* Stops the running code, from a signal handler in the main thread. */
void clsh_interrupt_stop(void) {
  clsh_poll_interrupt = 1;
  pending = 1;
  if (!closed)
    hookin(running);
}

static void onsignal(int sig) {
  int saved = errno;
  if (!pthread_equal(pthread_self(), mainthread)) {
    pthread_kill(mainthread, sig); /* a thread of a driver got it */
    errno = saved;
    return;
  }
  pressed();
  clsh_interrupt_stop();
  errno = saved;
}

/* Notes which thread runs from now on. */
static void runs(lua_State *L) {
  running = L;
  join(L);
}

/*
** Resumes `co` with narg arguments from the top of L, as lcorolib.c does, and
** notes the running thread. Returns the number of results; -1: an error.
*/
static int resume(lua_State *L, lua_State *co, int narg) {
  int nres;
  if (!lua_checkstack(co, narg)) {
    lua_pushliteral(L, "too many arguments to resume");
    return -1;
  }
  lua_xmove(L, co, narg);
  runs(co);
  int status = lua_resume(co, L, narg, &nres);
  runs(L);
  if (status != LUA_OK && status != LUA_YIELD) {
    clsh_traceback_keepcoroutine(L, co);
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

/* The function of coroutine.wrap; errors pass through, as in lcorolib.c. */
static int wrapped(lua_State *L) {
  lua_State *co = lua_tothread(L, lua_upvalueindex(1));
  int n = resume(L, co, lua_gettop(L));
  if (n >= 0)
    return n;
  int status = lua_status(co);
  if (status != LUA_OK && status != LUA_YIELD) { /* failed, not misused */
    runs(co);
    status = lua_resetthread(co); /* runs __close, keeps the error */
    runs(L);
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

/* Runs __close in the thread that is closed; Lua refuses a running one. */
static int coroutine_close(lua_State *L) {
  lua_Debug ar;
  lua_State *co = lua_tothread(L, 1);
  if (co == NULL || (lua_status(co) == LUA_OK && lua_getstack(co, 0, &ar)))
    return closecoroutine(L);
  runs(co);
  int n = closecoroutine(L);
  runs(L);
  return n;
}

/* Sets a hook; an interrupt that is under way keeps its own. */
static int debug_sethook(lua_State *L) {
  int n = sethook(L);
  join(L);
  return n;
}

/*
** While a command runs, it gets SIGINT and this program ignores it. A SIGINT
** that ended the command stops the calling code as well.
*/
static int os_execute(lua_State *L) {
  int n = execute(L);
  if (installed && n == 3 && lua_tointeger(L, -1) == SIGINT &&
      strcmp(lua_tostring(L, -2), "signal") == 0)
    raise(SIGINT);
  return n;
}

/* Whether the value at `idx` is the error that an interrupt raises. */
bool clsh_interrupt_test(lua_State *L, int idx) {
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

/* Forgets an interrupt: the code that it was to stop has ended. */
void clsh_interrupt_end(lua_State *L) {
  running = L;
  pending = 0;
  raises = 0;
  presses = 0;
  clsh_poll_interrupt = 0;
  if (lua_gethook(L) == stop) {
    if (user.thread == L)
      lua_sethook(L, user.hook, user.mask, user.count);
    else
      lua_sethook(L, NULL, 0, 0);
  }
  user.thread = NULL;
}

/*
** For cl.undisturbed: state 0 suspends an interrupt and returns the state that
** restores it, unless another interrupt has come meanwhile.
*/
static int swap(lua_State *L, int state) {
  int before = pending ? raises + 1 : 0;
  if (state == 0)
    clsh_interrupt_end(L);
  else if (!pending) {
    raises = state - 1;
    pending = 1;
    arm(L);
  }
  return before;
}

/*
** Makes Ctrl-C kill the program again, also after a driver's compiler has set
** its own handler. From now on nobody hooks the state, which may be closed.
*/
void clsh_interrupt_close(void) {
  closed = 1;
  if (installed)
    signal(SIGINT, SIG_DFL);
}

/*
** Replaces a function of a library by `f`, unless NULL; returns the old one.
*/
lua_CFunction clsh_interrupt_replace(lua_State *L, const char *library,
                                     const char *name, lua_CFunction f) {
  lua_getglobal(L, library);
  lua_getfield(L, -1, name);
  lua_CFunction original = lua_tocfunction(L, -1);
  lua_pop(L, 1);
  if (f != NULL && original != NULL) {
    lua_pushcfunction(L, f);
    lua_setfield(L, -2, name);
  }
  lua_pop(L, 1);
  return original;
}

/*
** Takes over SIGINT, unless the parent wants it ignored, and the library
** functions that change the running thread or its hook. No SA_RESTART: a
** read that waits for the keyboard gives up.
*/
void clsh_interrupt_open(lua_State *L) {
  clsh_interrupt_replace(L, LUA_COLIBNAME, "resume", coroutine_resume);
  clsh_interrupt_replace(L, LUA_COLIBNAME, "wrap", coroutine_wrap);
  closecoroutine =
      clsh_interrupt_replace(L, LUA_COLIBNAME, "close", coroutine_close);
  sethook = clsh_interrupt_replace(L, LUA_DBLIBNAME, "sethook", debug_sethook);
  execute = clsh_interrupt_replace(L, LUA_OSLIBNAME, "execute", os_execute);
  xpcall = clsh_interrupt_replace(L, LUA_GNAME, "xpcall", NULL);
  mainthread = pthread_self();
  clsh_poll_swap = swap;
  hasterminal = tcgetattr(STDIN_FILENO, &terminal) == 0;
  const char *term = getenv("TERM");
  Launch l;
  escapes = !clsh_launcher_several(&l) && isatty(STDOUT_FILENO) &&
            term != NULL && strcmp(term, "dumb") != 0;
  clsh_interrupt_end(L);
  struct sigaction action;
  if (sigaction(SIGINT, NULL, &action) != 0 || action.sa_handler == SIG_IGN)
    return;
  memset(&action, 0, sizeof action);
  action.sa_handler = onsignal;
  sigemptyset(&action.sa_mask);
  installed = sigaction(SIGINT, &action, NULL) == 0;
}
