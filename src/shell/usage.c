/*
** usage.c - prints --help and --help-all, from the tables of the options.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "repl.h"

#define WIDTH 79   /* of a line */
#define OPTION 12  /* column of an option in --help */
#define MEANING 35 /* column of what it means */
#define INDENT 6   /* of sentences in --help-all */

/* "-d, --device SEL"; without a letter the name stands where it would. */
static void optionwords(const Option *o, char *out, size_t size) {
  char letter[5] = "    ";
  if (o->code < OPT_LONG)
    snprintf(letter, sizeof letter, "-%c%s", o->code,
             o->name != NULL ? ", " : "");
  snprintf(out, size, "%s%s%s%s%s", letter, o->name != NULL ? "--" : "",
           o->name != NULL ? o->name : "", o->arg != NULL ? " " : "",
           o->arg != NULL ? o->arg : "");
}

/* The lines of `text`, the first where the cursor is, at `column`. */
static void lines(const char *text, int column) {
  for (;;) {
    size_t n = strcspn(text, "\n");
    printf("%.*s\n", (int)n, text);
    if (text[n] == '\0')
      return;
    text += n + 1;
    printf("%*s", column, "");
  }
}

/* Sentences, broken at spaces, all lines indented. */
static void sentences(const char *text, int indent) {
  int column = 0;
  while (*text != '\0') {
    int n = (int)strcspn(text, " ");
    if (column > 0 && column + 1 + n > WIDTH) {
      putchar('\n');
      column = 0;
    }
    column += printf("%*s%.*s", column == 0 ? indent : 1, "", n, text);
    text += n;
    text += *text == ' ';
  }
  putchar('\n');
}

/* Facts in two columns under a title, which is the first column of all. */
static void facts(const char *title, const Fact *f, int column) {
  for (; f->name != NULL; f++) {
    printf("%-*s%-*s  ", OPTION, title, column - OPTION - 2, f->name);
    lines(f->text, column);
    title = "";
  }
}

static void purpose(void) {
  printf(PROGRAM " - write, run and tune OpenCL kernels from Lua\n\n");
  for (const Fact *f = clsh_uses; f->name != NULL; f++) {
    printf("  %-*s", MEANING - 2, f->name);
    lines(f->text, MEANING);
  }
  putchar('\n');
}

/* --help: a screen of what one needs most. */
void clsh_printhelp(void) {
  const char *group = "";
  purpose();
  for (const Option *o = clsh_optiontable; o->code != 0; o++) {
    char words[64];
    if (o->group == NULL)
      continue;
    optionwords(o, words, sizeof words);
    printf("%-*s%-*s", OPTION, strcmp(o->group, group) != 0 ? o->group : "",
           MEANING - OPTION, words);
    lines(o->help, MEANING);
    group = o->group;
  }
  putchar('\n');
  for (const Fact *f = clsh_examples; f->name != NULL; f++)
    printf("%-*s%s\n", OPTION, f == clsh_examples ? "Examples" : "", f->name);
  printf("%-*s", OPTION - 1, "Exit");
  int column = OPTION - 1;
  for (const Fact *f = clsh_exits; f->name != NULL; f++) {
    char words[64];
    int n = snprintf(words, sizeof words, " %s %s%s", f->name, f->text,
                     f[1].name != NULL ? "," : "");
    if (column + n > WIDTH) {
      printf("\n%*s", OPTION - 1, "");
      column = OPTION - 1;
    }
    column += printf("%s", words);
  }
  printf("\nStart here  ?tutorial in the shell, or man " PROGRAM "\n");
}

/* --help-all: everything, in sentences. */
void clsh_printhelpall(void) {
  const char *group = "";
  purpose();
  printf("A script is looked up by its path, then among the installed "
         "scripts. Without a\nterminal, " PROGRAM " runs standard input.\n");
  for (const Option *o = clsh_optiontable; o->code != 0; o++) {
    const char *mine = o->group != NULL ? o->group : "For programs";
    char words[64];
    if (strcmp(mine, group) != 0)
      printf("\n%s\n", mine);
    group = mine;
    optionwords(o, words, sizeof words);
    printf("  %s\n", words + strspn(words, " "));
    sentences(o->more, INDENT);
  }
  putchar('\n');
  facts("Environment", clsh_environment, 30);
  putchar('\n');
  facts("Files", clsh_files, 44);
  putchar('\n');
  facts("Exit", clsh_exits, 18);
  putchar('\n');
  facts("Examples", clsh_examples, 57);
}
