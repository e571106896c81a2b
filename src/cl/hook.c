/*
** hook.c - the table cl.hooks of the registry: functions and values that
** module cl and the Lua files of clshell share besides the names of the
** module. In stock Lua the table has only the entries that C sets, and C does
** without the entries of Lua.
**
** Lua sets by functions of the module, which say the arguments:
**   explain_build, launched, onchoice, translate_cuda
** Lua sets, in lua/clshell/init.lua:
**   library         how the names of clshell's own chunks begin: errors tell
**                   the line of the user behind them
**   no_driver       text: the remedy where there is no device
**   no_device       text: the remedy where no device is as asked
**   building        (name, fd): the program of that name builds, and builds
**                   have taken a moment; (nil, fd): it has ended. The user's
**                   standard error is file descriptor `fd`
**   word            (class, key) -> text or nil: a name of another library,
**                   such as NumPy, in the words of clshell
**   set_array       (array, value): Array:set without indexes
**   copy_way        (context, context, bytes, whether they share memory) ->
**                   way of a copy between two devices (Buffer:copy), or nil
**   marked          (Kernel) -> Kernel of the same source with its marks, see
**                   kernels/show/mark.cl; or false
**   leaving         (): called as the program ends, once commands have ended
**   give_up         (): lets go of values kept for later calls, as memory is
**                   short
** C sets:
**   build_early     (source, options): begins a build on a thread, for the
**                   next cl.build with the same arguments
**   result          (type, shape, context) -> Buffer, for a result of
**                   calculations: the first command that uses it is on the
**                   context's default queue
**   call_key        (metatable of packed operands, n, n operands, options) ->
**                   string, equal for equal calls of a kernel family; nil: an
**                   operand or an option is of another kind, or closed
**   taken           (i) -> boolean: whether the caller of the function that
**                   asks, in Lua, takes its result number i
**   edits           () -> number; while it stays the same, programs that have
**                   not changed are as they were
**   launches        () -> number of launches so far
**   type_question   (source) -> its declarations, or nil; macros: CLSH_KIND(T)
**                   is the place of a type in cl.types()
**   timeline        table of functions: calendar, clear, read, recording,
**                   start, stop, see timeline.c
**   gated           () -> boolean: whether a user event has not been set, for
**                   which commands may wait
**   recording       the CommandBuffer of a cl.record that is under way, or nil
**   recorder        the thread that runs the function of that cl.record
** SPDX-License-Identifier: MIT
*/
#include "object.h"

#define HOOKS "cl.hooks"

/* Pushes an entry, and returns its type. */
int clsh_hook_push(lua_State *L, const char *name) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, HOOKS);
  int type = lua_getfield(L, -1, name);
  lua_remove(L, -2);
  return type;
}

/* Sets an entry to the value at the top, which it pops. */
void clsh_hook_set(lua_State *L, const char *name) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, HOOKS);
  lua_insert(L, -2);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

/** cl.explain_build(f)
 * Has function `f` put the error of every failed build into words, before it
 * is raised: f(e) may set e.message and add fields. Without such a function
 * the message is the compiler's log. Fields of `e` besides those of every
 * error: log, options, defines (the lines in front of the source), device (its
 * name), program (the path of the file or the name of the text), source (the
 * text), given (the text as the compiler got it, with defines and #line
 * directives), is_text (not from a file), cuda (of a CUDA text: see
 * cl.translate_cuda).
 * Example:
 * -- cl.explain_build(function(e) e.message = e.device .. ": " .. e.log end)
 * print(type(cl.explain_build)) --> function
 */
/** cl.onchoice(f)
 * Calls f(device, rule, sel) when the session's device is chosen at the first
 * need: rule is "--device" or "CLSHELL_DEVICE", with its value as `sel`, or
 * "first". The prompt prints a line then. Errors in f are ignored.
 * Example:
 * cl.onchoice(function(device, rule)
 *   print(device.name, rule == "first" and "by itself" or rule)
 * end)
 */
/** cl.launched(f)
 * On the simulator Oclgrind, has each launch waited for, and then f(launch,
 * args...) called; launches in `f` itself make no calls. On other devices f is
 * never called.
 * Example:
 * -- cl.launched(function(launch, ...) print(launch, ...) end)
 * print(type(cl.launched)) --> function
 */
/** cl.translate_cuda(f)
 * Has function `f` translate the texts that cl.build gets with cuda = true:
 * f(text, device, options) returns a table with the OpenCL C as `opencl`,
 * which is prog.cuda from then on, or nil and the errors as a compiler's log.
 * clshell sets one; it keeps the lines of the text.
 * Example:
 * cl.translate_cuda(function(text)
 *   return {opencl = text:gsub("__global__", "kernel")}
 * end)
 * print(cl.build("__global__ void f() {}", {cuda = true}).f.name) --> f
 */
/* Each of these sets the entry of its name, upvalue 1, to a function. */
static int cl_sethook(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  clsh_hook_set(L, lua_tostring(L, lua_upvalueindex(1)));
  return 0;
}

void clsh_hook_open(lua_State *L) {
  static const char *const names[] = {"explain_build", "launched", "onchoice",
                                      "translate_cuda", NULL};
  for (int i = 0; names[i] != NULL; i++) {
    lua_pushstring(L, names[i]);
    lua_pushcclosure(L, cl_sethook, 1);
    lua_setfield(L, -2, names[i]);
  }
}
