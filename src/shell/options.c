/*
** options.c - reads the command line of clshell.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl/cl.h"
#include "shell.h"

#define MAXOPTIONS 64
#define MAXTIMEOUT 1e9 /* seconds */
#define SHOWN 100      /* bytes of a word in a message */

/* The tables of getopt_long. */
typedef struct Getopt {
  char letters[2 * MAXOPTIONS + 3];
  struct option longs[MAXOPTIONS];
  const char *names[MAXOPTIONS]; /* "--device", for suggestions */
} Getopt;

static void addnames(Getopt *g, char names[][24]) {
  char *letter = g->letters;
  int n = 0;
  *letter++ = '+'; /* stop at the script */
  *letter++ = ':'; /* tell a missing value from an unknown option */
  for (const Option *o = clsh_optiontable; o->code != 0; o++) {
    int wants = o->arg != NULL ? required_argument : no_argument;
    if (o->code < OPT_LONG) {
      *letter++ = (char)o->code;
      if (o->arg != NULL)
        *letter++ = ':';
    }
    if (o->name == NULL)
      continue;
    assert(n < MAXOPTIONS - 1 && strlen(o->name) < sizeof names[n] - 2);
    snprintf(names[n], sizeof names[n], "--%s", o->name);
    g->names[n] = names[n];
    g->longs[n++] = (struct option){o->name, wants, NULL, o->code};
  }
  *letter = '\0';
}

/* The option for an unknown letter: the other case, or its first letter. */
static const char *nearletter(int letter) {
  static char words[32];
  for (const Option *o = clsh_optiontable; o->code != 0; o++) {
    if (o->code < OPT_LONG && isalpha(letter) &&
        tolower(o->code) == tolower(letter)) {
      snprintf(words, sizeof words, "-%c", o->code);
      break;
    }
    if (*words == '\0' && o->name != NULL && o->group != NULL &&
        o->name[0] == tolower(letter))
      snprintf(words, sizeof words, "--%s", o->name);
  }
  return *words != '\0' ? words : NULL;
}

/*
** A word of the command line for a message: cut where it is long, with marks
** in place of characters that would steer a terminal. Valid until the next
** call.
*/
const char *clsh_options_shown(const char *word) {
  static char s[SHOWN + 4];
  size_t n = 0;
  for (; n < SHOWN && word[n] != '\0'; n++)
    s[n] = iscntrl((unsigned char)word[n]) ? '?' : word[n];
  bool cut = word[n] != '\0';
  while (cut && n > 0 && ((unsigned char)word[n] & 0xc0) == 0x80)
    n--;
  strcpy(s + n, cut ? "..." : "");
  return s;
}

static int usage(const char *format, const char *word, const char *near) {
  fprintf(stderr, PROGRAM ": ");
  fprintf(stderr, format, clsh_options_shown(word));
  if (near != NULL)
    fprintf(stderr, "; did you mean %s?", near);
  fprintf(stderr, " (try '" PROGRAM " --help')\n");
  return EXIT_USAGE;
}

/* Whether several long options begin with `word`. */
static bool ambiguous(const char *word) {
  int found = 0;
  for (const Option *o = clsh_optiontable; o->code != 0; o++)
    found += o->name != NULL && o->group != NULL &&
             strncmp(o->name, word, strlen(word)) == 0;
  return found > 1;
}

/* Reports a bad option; `code` is the result of getopt. */
static int badoption(const Getopt *g, const char *word, int code) {
  bool islong = strncmp(word, "--", 2) == 0;
  char letter[3] = {'-', (char)optopt, '\0'};
  if (code == ':')
    return usage("option %s needs a value", islong ? word : letter, NULL);
  if (islong && optopt != 0)
    return usage("no option %s with a value", word, NULL);
  if (islong)
    return usage(ambiguous(word + 2) ? "option %s is ambiguous"
                                     : "unknown option %s",
                 word, clsh_nearest(word, g->names));
  return usage("unknown option %s", letter, nearletter(optopt));
}

/* -devices for --devices: the long option that a word names, or NULL. */
static const char *onedash(const Getopt *g, const char *word) {
  if (word == NULL || word[0] != '-' || word[1] == '-')
    return NULL;
  for (int i = 0; g->names[i] != NULL; i++)
    if (strcmp(g->names[i] + 1, word) == 0)
      return g->names[i];
  return NULL;
}

/* Whether a value is one of a list, NULL-ended; complains if not. */
static bool isword(const char *value, const char *const list[],
                   const char *option) {
  char text[128];
  size_t n = (size_t)snprintf(text, sizeof text, "%s must be ", option);
  for (int i = 0; list[i] != NULL; i++) {
    if (strcmp(list[i], value) == 0)
      return true;
    if (n < sizeof text)
      n += (size_t)snprintf(text + n, sizeof text - n, "%s%s",
                            i == 0                ? ""
                            : list[i + 1] == NULL ? " or "
                                                  : ", ",
                            list[i]);
  }
  if (n < sizeof text)
    snprintf(text + n, sizeof text - n, "; got '%%s'");
  usage(text, value, clsh_nearest(value, list));
  return false;
}

static bool isseconds(Options *o, const char *value) {
  char *end;
  o->timeout = strtod(value, &end);
  if (end != value && *end == '\0' && o->timeout > 0 &&
      o->timeout <= MAXTIMEOUT)
    return true;
  usage("--timeout must be a number of seconds > 0; got '%s'", value, NULL);
  return false;
}

/* Takes an option and its value. Returns -1 to go on, or an exit code. */
static int take(Options *o, int code, const char *value) {
  const struct {
    int code;
    const char **text; /* where the value goes; NULL: */
    bool *flag;        /* true from here on */
  } places[] = {
      {'d', &o->device, NULL},      {OPT_AS, &o->as, NULL},
      {'f', &o->format, NULL},      {'o', &o->output, NULL},
      {OPT_COLOR, &o->color, NULL}, {'e', NULL, &o->code},
      {'p', NULL, &o->code},        {'n', NULL, &o->noinit},
      {'i', NULL, &o->interactive}, {'q', NULL, &o->quiet},
      {OPT_TRACE, &o->trace, NULL},
  };
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    if (places[i].code == code && places[i].text != NULL)
      *places[i].text = value;
    else if (places[i].code == code)
      *places[i].flag = true;
  bool fine = true;
  if (code == OPT_OPTIONS)
    o->actions[o->nactions++] = (Action){'O', value};
  else if (code == 'e' || code == 'p' || code == 'l' || code == 'I' ||
           code == 'D')
    o->actions[o->nactions++] = (Action){(char)code, value};
  else if (code == 'f')
    fine = isword(value, clsh_optiontable_formats, "--format");
  else if (code == OPT_COLOR)
    fine = isword(value, clsh_optiontable_whens, "--color");
  else if (code == OPT_TIMEOUT)
    fine = isseconds(o, value);
  else if (code == OPT_STORE && setenv("CLSHELL_STORE", value, 1) != 0)
    return EXIT_SCRIPT;
  else if (code == 'V') {
    printf(PROGRAM " " CLSHELL_VERSION " (" LUA_RELEASE ")%s%s\n",
           *clsh_home_commit != '\0' ? ", commit " : "", clsh_home_commit);
    return EXIT_OK;
  }
  return fine ? -1 : EXIT_USAGE;
}

/* Notes the tool that an option stands for; true: nothing else counts. */
static bool taketool(Options *o, int code, const char *value) {
  const Option *t = clsh_optiontable;
  while (t->code != code)
    t++;
  if (t->tool != NULL) {
    o->tool = t->tool;
    o->what = value;
  }
  return code == 'h' || code == OPT_HELPALL;
}

/* Reads the command line. Returns -1 to go on, or a code to exit with. */
int clsh_options_parse(Options *o) {
  Getopt g = {0};
  char names[MAXOPTIONS][24];
  addnames(&g, names);
  opterr = 0;
  for (;;) {
    int at = optind;
    const char *meant = onedash(&g, at < o->argc ? o->argv[at] : NULL);
    if (meant != NULL)
      return usage("unknown option %s", o->argv[at], meant);
    int c = getopt_long(o->argc, o->argv, g.letters, g.longs, NULL);
    if (c == -1) {
      bool check = o->tool != NULL && strcmp(o->tool, "check") == 0;
      for (int i = 0; i < o->nactions && !check; i++)
        if (o->actions[i].kind == 'D' || o->actions[i].kind == 'O')
          return usage("-D and --options go with --check; got '%s' alone",
                       o->actions[i].text, NULL);
      o->script = optind;
      return -1;
    }
    if (c == '?' || c == ':')
      return badoption(&g, o->argv[at], c);
    int code = take(o, c, optarg);
    if (code >= 0)
      return code;
    if (taketool(o, c, optarg)) {
      o->script = o->argc;
      return -1;
    }
  }
}
