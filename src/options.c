/*
** options.c - the command line of clshell.
** SPDX-License-Identifier: MIT
*/
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clshell.h"
#include "repl.h"

static const char usage[] =
    "clshell - write and run OpenCL kernels from Lua\n"
    "\n"
    "  clshell                         interactive shell\n"
    "  clshell script.lua [args]       run a script (args in arg and ...)\n"
    "  clshell -e 'code'  -p 'expr'    run code / print values\n"
    "  clshell -                       run standard input\n"
    "  clshell history|best|compare|export|import|prune\n"
    "                                  runs kept (with --help: what of them)\n"
    "\n"
    "Device   -d, --device SEL     part of a name, gpu, cpu, accelerator or\n"
    "                              an index; otherwise CLSHELL_DEVICE\n"
    "             --devices        list the devices\n"
    "Running  -e CODE              run CODE\n"
    "         -p EXPR              print the values of EXPR\n"
    "         -l MOD, -l G=MOD     require MOD into the global MOD, or G\n"
    "         -i, --interactive    open the shell afterwards\n"
    "         -q, --quiet          no banner\n"
    "         --store FILE         keep benches there; none: nowhere\n"
    "         -h, --help           this text\n"
    "         -V, --version        the version\n"
    "\n"
    "A script is looked up by its path, then among the installed scripts:\n"
    "'clshell bench_tiles.lua' works anywhere. Without a terminal, clshell\n"
    "runs standard input.\n"
    "\n"
    "Files    CLSHELL_HOME         holds lua/ kernels/ scripts/\n"
    "         CLSHELL_STORE        keeps benches; otherwise clshell/runs.db "
    "in\n"
    "                              XDG_DATA_HOME (~/.local/share)\n"
    "         XDG_STATE_HOME       holds clshell/history (~/.local/state)\n"
    "Exit     0 ok, 1 script error, 2 usage, 3 no matching device,\n"
    "         4 regression found, 130 interrupted\n";

static const struct option longopts[] = {
    {"device", required_argument, NULL, 'd'},
    {"devices", no_argument, NULL, 'D'},
    {"help", no_argument, NULL, 'h'},
    {"interactive", no_argument, NULL, 'i'},
    {"quiet", no_argument, NULL, 'q'},
    {"store", required_argument, NULL, 'S'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

/* Says what is wrong with option `word`; `code` is what getopt made of it. */
static int badoption(const char *word, int code) {
  static const char *const names[] = {"--device",      "--devices", "--help",
                                      "--interactive", "--quiet",   "--store",
                                      "--version",     NULL};
  bool islong = strncmp(word, "--", 2) == 0;
  char letter[3] = {'-', (char)optopt, '\0'};
  if (!islong)
    word = letter;
  fprintf(stderr, PROGRAM ": ");
  if (code == ':')
    fprintf(stderr, "option %s needs a value", word);
  else if (islong && strchr(word, '=') != NULL)
    fprintf(stderr, "no option %s with a value", word);
  else {
    const char *near = islong ? clsh_nearest(word, names) : NULL;
    fprintf(stderr, "unknown option %s", word);
    if (near != NULL)
      fprintf(stderr, "; did you mean %s?", near);
  }
  fprintf(stderr, " (try '" PROGRAM " --help')\n");
  return EXIT_USAGE;
}

/* Reads the command line. Returns -1 to go on, or a code to exit with. */
int clsh_parse(Options *o) {
  opterr = 0;
  for (;;) {
    int at = optind;
    int c = getopt_long(o->argc, o->argv, "+:d:e:hil:p:qV", longopts, NULL);
    switch (c) {
    case -1:
      o->script = optind;
      return -1;
    case 'd':
      o->device = optarg;
      break;
    case 'D':
      o->list = true;
      break;
    case 'e':
    case 'p':
      o->code = true;
      /* fall through */
    case 'l':
      o->actions[o->nactions++] = (Action){(char)c, optarg};
      break;
    case 'h':
      fputs(usage, stdout);
      return EXIT_OK;
    case 'i':
      o->interactive = true;
      break;
    case 'q':
      o->quiet = true;
      break;
    case 'S':
      if (setenv("CLSHELL_STORE", optarg, 1) != 0)
        return EXIT_SCRIPT;
      break;
    case 'V':
      printf(PROGRAM " " CLSHELL_VERSION " (" LUA_RELEASE ")\n");
      return EXIT_OK;
    default:
      return badoption(o->argv[at], c);
    }
  }
}
