/*
** typedef.c - parameters whose type the driver names as the source does: a
** typedef or a struct. Only the compiler knows such a type. It builds the
** declarations of the source, without the bodies of functions, and behind them
** kernels whose required work-group sizes tell the type and its size: no
** kernel runs. Where the compiler refuses the declarations alone, it builds
** the whole source; where it refuses that, such parameters take explicit
** types.
** SPDX-License-Identifier: MIT
*/
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"
#include "program.h"

/* CLSH_TELL makes a kernel that tells a number below 256. */
#define TELL                                                                  \
  "#ifdef cl_khr_fp64\n"                                                      \
  "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"                           \
  "#endif\n"                                                                  \
  "#ifdef cl_khr_fp16\n"                                                      \
  "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"                           \
  "#endif\n"                                                                  \
  "#define CLSH_IS __builtin_types_compatible_p\n"                            \
  "#define CLSH_TELL(name, n) __kernel __attribute__((reqd_work_group_size("  \
  "(n) % 16 + 1, (n) / 16 % 16 + 1, 1))) void name(__global int *clsh_x) "    \
  "{}\n"

enum { KIND, LOW, HIGH, NUMBERS }; /* of a type; the bytes of its size */

static bool isasked(const Param *p) {
  return p->known && p->value == NULL && !p->anything && p->object == 0;
}

/* The end of the comment, the text in quotes or, at the start of a line, the
** directive at `s`; `s`: none begins there. */
static const char *skipped(const char *s, bool first) {
  const char *end = s;
  if (s[0] == '/' && s[1] == '*') {
    end = strstr(s + 2, "*/");
    return end != NULL ? end + 2 : s + strlen(s);
  } else if (*s == '"' || *s == '\'') {
    for (end++; *end != '\0' && *end != *s && *end != '\n'; end++)
      end += end[0] == '\\' && end[1] != '\0';
    return end + (*end != '\0');
  } else if ((first && *s == '#') || (s[0] == '/' && s[1] == '/')) {
    for (; *end != '\0' && *end != '\n'; end++)
      end += end[0] == '\\' && end[1] != '\0';
  }
  return end;
}

/* The declarations of a source under way. */
typedef struct Heads {
  luaL_Buffer text;
  int bodies; /* braces of a function's body that are open */
  int parens; /* parentheses that are open outside bodies */
  bool name;  /* behind a word that can be the name of a function */
  bool named; /* such a word stands before the open parentheses */
  bool head;  /* behind a function's parameters */
} Heads;

/* Adds the word at `s` unless it is in a body. Returns its end. */
static const char *addword(Heads *h, const char *s) {
  size_t n = 0;
  while (isalnum((unsigned char)s[n]) || s[n] == '_')
    n++;
  h->name = strncmp(s, "__attribute__", n) != 0;
  h->head = false;
  if (h->bodies == 0)
    luaL_addlstring(&h->text, s, n);
  return s + n;
}

/* Adds a character unless it is in a body; `;` stands for a body. */
static void addmark(Heads *h, char c) {
  bool inside = h->bodies > 0;
  if (c == '{' && (inside || (h->parens == 0 && h->head))) {
    if (h->bodies++ == 0)
      luaL_addchar(&h->text, ';');
    return;
  } else if (inside) {
    h->bodies -= c == '}';
    return;
  } else if (c == '(') {
    if (h->parens++ == 0)
      h->named = h->name;
  } else if (c == ')') {
    h->parens--;
  }
  if (!isspace((unsigned char)c)) {
    h->head = c == ')' && h->parens == 0 && h->named;
    h->name = false;
  }
  luaL_addchar(&h->text, c);
}

/* Pushes the declarations of a source; false, with nothing pushed, where its
** braces do not match. */
static bool pushheads(lua_State *L, const char *s) {
  Heads h = {.bodies = 0};
  int top = lua_gettop(L);
  bool first = true;
  luaL_buffinit(L, &h.text);
  while (*s != '\0') {
    const char *end = skipped(s, first);
    if (end > s) {
      if (h.bodies == 0)
        luaL_addlstring(&h.text, s, (size_t)(end - s));
      s = end;
    } else if (isalpha((unsigned char)*s) || *s == '_') {
      s = addword(&h, s);
    } else {
      addmark(&h, *s++);
    }
    first = s[-1] == '\n' || (first && isspace((unsigned char)s[-1]));
  }
  luaL_pushresult(&h.text);
  if (h.bodies > 0)
    lua_settop(L, top);
  return h.bodies == 0;
}

/* Adds a line for each macro of a source that takes it away. A type's name may
** be a macro, and the driver tells types without macros. */
static void addundefs(luaL_Buffer *b, const char *s) {
  while ((s = strchr(s, '#')) != NULL) {
    size_t n = 0;
    s += 1 + strspn(s + 1, " \t");
    if (strncmp(s, "define", 6) != 0)
      continue;
    s += 6 + strspn(s + 6, " \t");
    while (isalnum((unsigned char)s[n]) || s[n] == '_')
      n++;
    luaL_addstring(b, "\n#undef ");
    luaL_addlstring(b, s, n);
  }
  luaL_addchar(b, '\n');
}

/* Adds " + CLSH_IS(T, name) * n" for type `t` by one of its names. */
static void addkind(lua_State *L, luaL_Buffer *b, const Type *t,
                    const char *name) {
  lua_pushfstring(L, " + CLSH_IS(T, %s) * %d", name,
                  (int)(t - clsh_type_all) + 1);
  luaL_addvalue(b);
}

/*
** Adds macro(T), "(0 + CLSH_IS(T, char) * 1 ...)", of the types whose names
** begin with `head`, "": of the others. Without the extension, unless NULL, it
** knows the plain type `half` alone, which memory may hold.
*/
static void addmacro(lua_State *L, luaL_Buffer *b, const char *macro,
                     const char *head, const char *extension) {
  lua_pushfstring(L, "#if%s %s\n#define %s(T) (0",
                  extension != NULL ? "def" : "",
                  extension != NULL ? extension : "1", macro);
  luaL_addvalue(b);
  for (const Type *t = clsh_type_all; t->name != NULL; t++) {
    bool optional = t->kind == 'f' && t->unit != 4;
    if (*head != '\0' ? strncmp(t->name, head, strlen(head)) != 0 : optional)
      continue;
    addkind(L, b, t, t->name);
    if (strcmp(t->name, "char") == 0)
      addkind(L, b, t, "signed char");
    else if (strcmp(t->name, "uchar") == 0)
      addkind(L, b, t, "bool");
  }
  luaL_addstring(b, ")\n#else\n#define ");
  luaL_addstring(b, macro);
  luaL_addstring(b, "(T) (0");
  if (strcmp(head, "half") == 0) {
    lua_pushfstring(L, " + CLSH_IS(T *, half *) * %d",
                    (int)(clsh_type_find(head, 4) - clsh_type_all) + 1);
    luaL_addvalue(b);
  }
  luaL_addstring(b, ")\n#endif\n");
}

/* Adds the macro CLSH_KIND(T), the number of a type, 0 for others. */
static void addkinds(lua_State *L, luaL_Buffer *b) {
  luaL_addstring(b, TELL);
  addmacro(L, b, "CLSH_PLAIN", "", NULL);
  addmacro(L, b, "CLSH_DOUBLE", "double", "cl_khr_fp64");
  addmacro(L, b, "CLSH_HALF", "half", "cl_khr_fp16");
  luaL_addstring(b, "#define CLSH_KIND(T) (CLSH_PLAIN(T) + CLSH_DOUBLE(T) + "
                    "CLSH_HALF(T))\n");
}

/* The hook type_question: see hook.c. */
static int hook_question(lua_State *L) {
  luaL_Buffer b;
  lua_settop(L, 1);
  if (!pushheads(L, luaL_checkstring(L, 1)))
    lua_pushnil(L);
  luaL_buffinit(L, &b);
  addkinds(L, &b);
  luaL_pushresult(&b);
  return 2;
}

/* Pushes the kernels that tell the types of the parameters of `k`, behind a
** source with these lines of defines. */
static void pushquestions(lua_State *L, const Kernel *k, const char *defines,
                          const char *source) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "\n"); /* a comment may end in a backslash */
  addundefs(&b, defines);
  addundefs(&b, source);
  addkinds(L, &b);
  for (int i = 0; i < k->nparams; i++) {
    const Param *p = &k->params[i];
    if (!isasked(p))
      continue;
    const char *type = clsh_kernel_pushtype(L, p);
    const char *star = strchr(type, '*');
    if (star != NULL)
      lua_pushlstring(L, type, (size_t)(star - type));
    else if (p->pointer) /* a typedef hides the star */
      lua_pushfstring(L, "__typeof__(*(%s)0)", type);
    else
      lua_pushvalue(L, -1);
    type = lua_tostring(L, -1);
    lua_pushfstring(L, "CLSH_TELL(clsh_%d_0, CLSH_KIND(%s))\n", i, type);
    lua_pushfstring(L,
                    "%sCLSH_TELL(clsh_%d_1, sizeof(%s))\n"
                    "CLSH_TELL(clsh_%d_2, sizeof(%s) / 256)\n",
                    lua_tostring(L, -1), i, type, i, type);
    lua_insert(L, -4);
    lua_pop(L, 3);
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
}

/* The number below 256 that a kernel of the built program tells; -1: none. */
static int told(const Program *p, int param, int number) {
  char name[40];
  size_t size[3] = {0, 0, 0}; /* each 1 to 16; a driver may tell anything */
  cl_int err;
  snprintf(name, sizeof name, "clsh_%d_%d", param, number);
  cl_kernel k = clCreateKernel(p->handle, name, &err);
  if (err != CL_SUCCESS)
    return -1;
  clGetKernelWorkGroupInfo(k, p->context->device,
                           CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof size,
                           size, NULL);
  clReleaseKernel(k);
  return size[0] - 1 < 16 && size[1] - 1 < 16
             ? (int)(size[0] - 1 + 16 * (size[1] - 1))
             : -1;
}

/* Type number n; NULL: there are fewer types. */
static const Type *numbered(int n) {
  const Type *t = clsh_type_all;
  while (t->name != NULL && --n > 0)
    t++;
  return t->name != NULL ? t : NULL;
}

static void settypes(const Program *p, Kernel *k) {
  for (int i = 0; i < k->nparams; i++) {
    Param *param = &k->params[i];
    if (!isasked(param))
      continue;
    int n[NUMBERS];
    for (int j = 0; j < NUMBERS; j++)
      n[j] = told(p, i, j);
    if (n[KIND] > 0)
      param->value = numbered(n[KIND]);
    if (n[LOW] >= 0 && n[HIGH] >= 0)
      param->size = (size_t)(n[LOW] + 256 * n[HIGH]);
  }
}

/* Whether a kernel has parameters to ask for, and a source to ask. */
static bool hasquestions(lua_State *L, int program, const Kernel *k) {
  bool any = false;
  for (int i = 0; i < k->nparams && !any; i++)
    any = isasked(&k->params[i]);
  bool source =
      any && lua_getiuservalue(L, program, PROGRAM_SOURCE) == LUA_TSTRING;
  if (any)
    lua_pop(L, 1);
  return source;
}

/* Asks the types of the parameters of `k` by the source at the top, which it
** pops; false: the compiler refuses it. The empty Program is at `asker`. */
static bool ask(lua_State *L, int asker, const char *options, Kernel *k) {
  Program *p = lua_touserdata(L, asker);
  const char *source = lua_tostring(L, -1);
  int tries = 0;
  cl_int err;
  p->handle = clCreateProgramWithSource(clsh_context_handle(L, p->context), 1,
                                        &source, NULL, &err);
  while (
      err == CL_SUCCESS &&
      clsh_error_retry(L, err = clsh_compiler_run(L, asker, options), &tries))
    err = CL_SUCCESS;
  if (err == CL_SUCCESS)
    settypes(p, k);
  clsh_class_close(&p->head);
  lua_pop(L, 1);
  return err == CL_SUCCESS;
}

/* Finds the types of the parameters of the Kernel at `kernel`, once. */
void clsh_typedef_resolve(lua_State *L, int kernel) {
  Kernel *k = clsh_kernel_check(L, kernel);
  int top = lua_gettop(L), program = top + 1, context = top + 2;
  bool done = k->asked;
  lua_getiuservalue(L, kernel, KERNEL_PROGRAM);
  done = done || !hasquestions(L, program, k);
  lua_getiuservalue(L, kernel, KERNEL_CONTEXT);
  for (int whole = 0; whole < 2 && !done; whole++) {
    lua_settop(L, context);
    lua_getiuservalue(L, program, PROGRAM_OPTIONS);
    const char *options = lua_pushfstring(L, "%s -w", lua_tostring(L, -1));
    if (strstr(options, CLSHELL_ARGINFO) == options)
      options += strlen(CLSHELL_ARGINFO);
    clsh_program_new(L, context, "(types)");
    int asker = lua_gettop(L);
    lua_getiuservalue(L, program, PROGRAM_SOURCE);
    lua_getiuservalue(L, program, PROGRAM_DEFINES);
    lua_pushvalue(L, -1);
    if (whole)
      lua_pushvalue(L, asker + 1);
    else if (!pushheads(L, lua_tostring(L, asker + 1)))
      continue;
    pushquestions(L, k, lua_tostring(L, asker + 2),
                  lua_tostring(L, asker + 1));
    lua_concat(L, 3);
    done = ask(L, asker, options, k);
  }
  k->asked = true;
  lua_settop(L, top);
}

void clsh_typedef_open(lua_State *L) {
  lua_pushcfunction(L, hook_question);
  clsh_hook_set(L, "type_question");
}
