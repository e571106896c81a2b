/*
** link.c - compile and link apart: a Program of several sources, some of them
** compiled once for several Programs.
** SPDX-License-Identifier: MIT
*/
#include "program.h"

/** cl.compile(source [, opts]) -> Program
 * Compiles a source, a path or text as for cl.build, for cl.link: the result
 * has no kernels. A function of another source is declared, as in C. Options
 * besides these as for cl.build.
 * Options:
 *   headers  none       texts by name: {["pair.h"] = "#define N 3"}, for
 *                       #include "pair.h"
 *   defines  none       macros, as for cl.build
 *   options  none       for the compiler
 *   include  none       a folder or a list; a file's own is always there
 *   name     (source)   of source text, in messages
 *   context  session's  the Context of another device
 * Example:
 * local pair = cl.compile([[
 *   #include "factor.h"
 *   int scaled(int x) { return FACTOR * x; }]],
 *   {headers = {["factor.h"] = "#define FACTOR 2"}})
 * print(#pair:kernels()) --> 0
 */
static int cl_compile(lua_State *L) {
  return clsh_build_from(L, COMPILE);
}

static const char *const link_options[] = {"library", "options", "name", NULL};

/*
** Pushes a copy of the list of Programs at 1, which must be compiled or
** libraries of one context, and that Context.
*/
static void pushparts(lua_State *L) {
  const Context *c = NULL;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
  if (n == 0)
    clsh_error_arg(L, 1, "the list must hold at least one Program");
  lua_createtable(L, (int)n, 0);
  int list = lua_gettop(L);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, 1, i);
    const Program *p = clsh_program_check(L, -1);
    if (p->making == BUILD || p->making == LINK)
      clsh_error_arg(L, 1,
                     "Program %d is built already; cl.compile makes "
                     "those to link",
                     (int)i);
    if (c != NULL && p->context != c)
      clsh_error_arg(L, 1, "Program %d is of another context (device)",
                     (int)i);
    c = p->context;
    clsh_source_append(L, list);
  }
  lua_rawgeti(L, list, 1);
  lua_getiuservalue(L, -1, PROGRAM_CONTEXT);
  lua_remove(L, -2);
}

/** cl.link(programs [, opts]) -> Program
 * Links Programs of cl.compile, and libraries, to one with kernels. What the
 * linker misses is an error with its log. Some drivers do not tell the types
 * of the parameters of such kernels: see cl.int.
 * Options:
 *   library  false     true: the result is linked with others later
 *   options  none      for the linker, such as "-cl-fast-relaxed-math"
 *   name     (linked)  in messages
 * Example:
 * local a = cl.compile "int twice(int x) { return 2 * x; }"
 * local b = cl.compile [[
 *   int twice(int x);
 *   kernel void f(global int *x) { x[0] = twice(x[0]); }]]
 * local x = cl.buffer("int", 1, 21)
 * cl.link{a, b}.f:range(1)(x)
 * print(x:read()[1]) --> 42
 */
static int cl_link(lua_State *L) {
  lua_settop(L, 2);
  clsh_option_check(L, 2, link_options, "cl.link");
  clsh_option_push(L, 2, "name");
  const char *name = luaL_optstring(L, 3, "(linked)");
  clsh_option_push(L, 2, "options");
  bool library = clsh_option_flag(L, 2, "library", false);
  lua_pushfstring(L, "%s%s", library ? "-create-library " : "",
                  luaL_optstring(L, 4, ""));
  pushparts(L); /* the list at 6 */
  clsh_program_new(L, 7, name)->making = library ? LIBRARY : LINK; /* at 8 */
  lua_pushvalue(L, 6);
  lua_setiuservalue(L, 8, PROGRAM_PARTS);
  clsh_build_make(L, 8, lua_tostring(L, 5), "", true);
  lua_settop(L, 8);
  return 1;
}

void clsh_link_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"compile", cl_compile}, {"link", cl_link}, {NULL, NULL}};
  clsh_option_declare(L, "cl.link", link_options);
  luaL_setfuncs(L, functions, 0);
}
