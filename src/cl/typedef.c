/*
** typedef.c - parameters whose type the driver names as the source does: a
** typedef or a struct. Only the compiler knows such a type. It builds the
** source once more, with kernels behind it whose required work-group sizes
** tell the type and its size: no kernel runs. Where the compiler refuses that,
** such parameters take explicit types.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <string.h>

#include "kernel.h"
#include "program.h"

/* CLSH_TELL makes a kernel that tells a number below 256. */
#define TELL                                                                  \
  "\n#ifdef cl_khr_fp64\n"                                                    \
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

/*
** Adds macro(T), "(0 + CLSH_IS(T, char) * 1 ...)", of the types whose names
** begin with `head`, "": of the others; 0 without the extension, unless NULL.
*/
static void addkinds(lua_State *L, luaL_Buffer *b, const char *macro,
                     const char *head, const char *extension) {
  lua_pushfstring(L, "#if%s %s\n#define %s(T) (0",
                  extension != NULL ? "def" : "",
                  extension != NULL ? extension : "1", macro);
  luaL_addvalue(b);
  for (const Type *t = clsh_type_all; t->name != NULL; t++) {
    bool optional = t->kind == 'f' && t->unit != 4;
    if (*head != '\0' ? strncmp(t->name, head, strlen(head)) != 0 : optional)
      continue;
    lua_pushfstring(L, " + CLSH_IS(T, %s) * %d", t->name,
                    (int)(t - clsh_type_all) + 1);
    luaL_addvalue(b);
  }
  lua_pushfstring(L, ")\n#else\n#define %s(T) 0\n#endif\n", macro);
  luaL_addvalue(b);
}

/* Pushes the kernels that tell the types of the parameters of `k`. */
static void pushquestions(lua_State *L, const Kernel *k) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, TELL);
  addkinds(L, &b, "CLSH_PLAIN", "", NULL);
  addkinds(L, &b, "CLSH_DOUBLE", "double", "cl_khr_fp64");
  addkinds(L, &b, "CLSH_HALF", "half", "cl_khr_fp16");
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
    lua_pushfstring(L,
                    "CLSH_TELL(clsh_%d_0, CLSH_PLAIN(%s) + CLSH_DOUBLE(%s) + "
                    "CLSH_HALF(%s))\n",
                    i, type, type, type);
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

/* Finds the types of the parameters of the Kernel at `kernel`, once. */
void clsh_typedef_resolve(lua_State *L, int kernel) {
  Kernel *k = clsh_kernel_check(L, kernel);
  int top = lua_gettop(L), asker = top + 3, tries = 0;
  if (k->asked)
    return;
  lua_getiuservalue(L, kernel, KERNEL_PROGRAM);
  if (hasquestions(L, top + 1, k)) {
    lua_getiuservalue(L, kernel, KERNEL_CONTEXT);
    Program *p = clsh_program_new(L, top + 2, "(types)");
    lua_getiuservalue(L, top + 1, PROGRAM_OPTIONS);
    const char *options = lua_pushfstring(L, "%s -w", lua_tostring(L, -1));
    if (strstr(options, CLSHELL_ARGINFO) == options)
      options += strlen(CLSHELL_ARGINFO);
    lua_getiuservalue(L, top + 1, PROGRAM_DEFINES);
    lua_getiuservalue(L, top + 1, PROGRAM_SOURCE);
    pushquestions(L, k);
    lua_concat(L, 3);
    const char *source = lua_tostring(L, -1);
    cl_int err;
    p->handle = clCreateProgramWithSource(clsh_context_handle(L, p->context),
                                          1, &source, NULL, &err);
    while (err == CL_SUCCESS &&
           clsh_error_retry(L, err = clsh_compiler_run(L, asker, options),
                            &tries))
      err = CL_SUCCESS;
    if (err == CL_SUCCESS)
      settypes(p, k);
    clsh_class_close(lua_touserdata(L, asker));
  }
  k->asked = true;
  lua_settop(L, top);
}
