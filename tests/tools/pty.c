/*
** pty.c - runs a command on a pseudo-terminal and converses with it.
**   pty [-t SECONDS] COMMAND [ARGUMENT...] <script
** The script has one step per line, indented or not:
**   expect TEXT   waits until the output, after the last match, has TEXT
**   refute TEXT   fails if the output since the last match has TEXT
**   send TEXT     types TEXT
**   insist TEXT   presses Ctrl-C, again and again, until the output has TEXT
**   settle        waits until the command's processes wait or compute
**   sleep MS      waits
**   exit CODE     waits for the end; CODE is 128 + N for signal N
** TEXT runs to the end of the line and may hold \r \n \t \e \\ \xHH.
** What the terminal would only move or colour is dropped from the output.
** Exit 0: all went as the script says. 1: it did not; the reason and the
** output are on standard error. 2: usage.
** SPDX-License-Identifier: MIT
*/
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAXOUTPUT (1 << 20)

static char output[MAXOUTPUT + 1]; /* all so far, as plain text */
static size_t length, matched;     /* of it; up to where it was expected */
static int escape;                 /* inside an escape sequence: its state */
static int master;
static pid_t child;
static double limit = 60; /* seconds for a step */
static int lineno;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what, const char *text) {
  fprintf(stderr, "pty: line %d: %s %s\n--- output:\n%s\n--- after:\n%s\n",
          lineno, what, text, output, output + matched);
  kill(child, SIGKILL);
  exit(1);
}

/* Keeps a character of output unless it belongs to an escape sequence. */
static void keep(char c) {
  if (escape == 0 && c == '\033')
    escape = 1;
  else if (escape == 1)
    escape = c == '[' ? 2 : c == ']' ? 3 : 0;
  else if (escape == 2)
    escape = c >= '@' && c <= '~' ? 0 : 2;
  else if (escape == 3)
    escape = c == '\a' ? 0 : 3;
  else if (c != '\r' && c != '\a' && length < MAXOUTPUT)
    output[length++] = c;
}

/* Takes in output for `ms` at most. False: the other side is closed. */
static int takein(int ms) {
  char block[4096];
  struct pollfd fd = {master, POLLIN, 0};
  if (poll(&fd, 1, ms) <= 0)
    return 1;
  ssize_t n = read(master, block, sizeof block);
  for (ssize_t i = 0; i < n; i++)
    keep(block[i]);
  output[length] = '\0';
  return n > 0 || (n < 0 && errno == EINTR);
}

/* Replaces the escapes of a script's TEXT in place; returns its length. */
static size_t unescape(char *s) {
  static const char from[] = "rnte\\", to[] = "\r\n\t\033\\";
  char *out = s, *start = s;
  for (; *s != '\0'; s++) {
    if (*s != '\\' || s[1] == '\0') {
      *out++ = *s;
      continue;
    }
    const char *known = strchr(from, *++s);
    if (known != NULL)
      *out++ = to[known - from];
    else if (*s == 'x' && s[1] != '\0' && s[2] != '\0') {
      char hex[3] = {s[1], s[2], '\0'};
      *out++ = (char)strtol(hex, NULL, 16);
      s += 2;
    } else
      *out++ = *s;
  }
  *out = '\0';
  return (size_t)(out - start);
}

/* The end of a step: later where more processes run than there are cores. */
static double deadline(void) {
  double load = 0, cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
  if (getloadavg(&load, 1) == 1 && cores > 0 && load > cores)
    return now() + limit * load / cores;
  return now() + limit;
}

static void expect(const char *text) {
  double end = deadline();
  int open = 1;
  for (;;) {
    char *found = strstr(output + matched, text);
    if (found != NULL) {
      matched = (size_t)(found - output) + strlen(text);
      return;
    }
    if (!open || now() > end)
      fail(open ? "timeout, expecting" : "ended, expecting", text);
    open = takein(50);
  }
}

static void send(const char *text, size_t n) {
  for (size_t done = 0; done < n;) {
    ssize_t k = write(master, text + done, n - done);
    if (k < 0 && errno != EINTR)
      fail("cannot send", text);
    done += k > 0 ? (size_t)k : 0;
  }
}

static void pauses(int ms) {
  for (double end = now() + ms / 1e3; now() < end;)
    if (!takein(10)) {
      struct timespec t = {0, 10000000};
      nanosleep(&t, NULL);
    }
}

/* The CPU time, in clock ticks, of the processes on the terminal, and whether
** one of them runs or is about to; -1 where there is no /proc. */
static long cputime(int *running) {
  long sum = 0;
  DIR *dir = access("/proc/self/stat", R_OK) == 0 ? opendir("/proc") : NULL;
  if (dir == NULL)
    return -1;
  *running = 0;
  for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
    char path[300], text[512], state;
    long session, user, system;
    snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
    FILE *f = *entry->d_name >= '1' && *entry->d_name <= '9' ? fopen(path, "r")
                                                             : NULL;
    if (f == NULL)
      continue;
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    char *rest = strrchr(text, ')'); /* the name before may have any text */
    if (rest == NULL ||
        sscanf(rest + 1, " %c %*d %*d %ld %*d %*d %*u %*u %*u %*u %*u %ld %ld",
               &state, &session, &user, &system) != 4 ||
        session != child)
      continue;
    sum += user + system;
    *running |= state == 'R' || state == 'D';
  }
  closedir(dir);
  return sum;
}

/* Waits until the command's processes have computed for a while, or none of
** them has run for a while. */
static void settle(void) {
  int running, idle = 0;
  long first = cputime(&running), last = first;
  if (first < 0) {
    pauses(100);
    return;
  }
  for (double end = deadline(); last - first < 3 && idle < 5;) {
    if (now() > end)
      fail("timeout,", "the command neither computes nor waits");
    pauses(10);
    long next = cputime(&running);
    idle = running || next != last ? 0 : idle + 1;
    last = next;
  }
}

/* Signals that come close together are one to a busy process. */
static void insist(const char *text) {
  double end = deadline();
  while (strstr(output + matched, text) == NULL && now() < end) {
    send("\003", 1);
    pauses(300);
  }
  expect(text);
}

static void ends(const char *text) {
  int status = 0;
  double end = deadline();
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (now() > end)
      fail("timeout, expecting the exit code", text);
    pauses(10);
  }
  int code =
      WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (code != atoi(text)) {
    char got[32];
    snprintf(got, sizeof got, "%d, not %s", code, text);
    fail("exit code", got);
  }
}

static void step(char *s) {
  s += strspn(s, " ");
  if (*s == '\0')
    return;
  char *text = s + strcspn(s, " ");
  if (*text != '\0')
    *text++ = '\0';
  size_t n = unescape(text);
  if (strcmp(s, "expect") == 0)
    expect(text);
  else if (strcmp(s, "refute") == 0) {
    if (strstr(output + matched, text) != NULL)
      fail("there is", text);
  } else if (strcmp(s, "send") == 0)
    send(text, n);
  else if (strcmp(s, "insist") == 0)
    insist(text);
  else if (strcmp(s, "settle") == 0)
    settle();
  else if (strcmp(s, "sleep") == 0)
    pauses(atoi(text));
  else if (strcmp(s, "exit") == 0)
    ends(text);
  else
    fail("unknown step", s);
}

/* The command, in a session of its own with the terminal as its own. */
static void run(const char *terminal, char *argv[]) {
  setsid();
  int fd = open(terminal, O_RDWR);
  struct winsize size = {24, 80, 0, 0};
  if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) != 0 ||
      ioctl(fd, TIOCSWINSZ, &size) != 0)
    _exit(126);
  for (int i = 0; i < 3; i++)
    dup2(fd, i);
  if (fd > 2)
    close(fd);
  signal(SIGINT, SIG_DFL); /* a background job's parent may ignore it */
  execvp(argv[0], argv);
  _exit(127);
}

int main(int argc, char *argv[]) {
  int first = 1;
  if (argc > 2 && strcmp(argv[1], "-t") == 0) {
    limit = atof(argv[2]);
    first = 3;
  }
  if (first >= argc) {
    fprintf(stderr, "usage: pty [-t SECONDS] COMMAND [ARGUMENT...]\n");
    return 2;
  }
  master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
    perror("pty");
    return 2;
  }
  fcntl(master, F_SETFD, FD_CLOEXEC);
  child = fork();
  if (child < 0) {
    perror("pty");
    return 2;
  }
  if (child == 0)
    run(ptsname(master), argv + first);
  char text[4096];
  while (fgets(text, sizeof text, stdin) != NULL) {
    text[strcspn(text, "\n")] = '\0';
    lineno++;
    step(text);
  }
  kill(child, SIGHUP);
  return 0;
}
