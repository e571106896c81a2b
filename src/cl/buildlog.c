/*
** buildlog.c - the compiler's log of a build, and the error of one that
** failed. What a log means and how it is shown is Lua: lua/clshell/
** diagnostic.lua and what that needs, of which the module carries a copy.
** SPDX-License-Identifier: MIT
*/
#include <ctype.h>
#include <string.h>

#include "object.h"
#include "program.h"

#define WORDS "clshell.diagnose.diagnostic"

static const char text_lua[] =
#include "text.lua.h"
    ;
static const char excerpt_lua[] =
#include "excerpt.lua.h"
    ;
static const char buildlog_lua[] =
#include "buildlog.lua.h"
    ;
static const char user_source_lua[] =
#include "user_source.lua.h"
    ;
static const char diagnostic_lua[] =
#include "diagnostic.lua.h"
    ;

static const struct {
  const char *name, *code;
} copies[] = {
    {"base.text", text_lua},
    {"diagnose.excerpt", excerpt_lua},
    {"diagnose.buildlog", buildlog_lua},
    {"diagnose.user_source", user_source_lua},
    {"diagnose.diagnostic", diagnostic_lua},
};

/* Pushes the device's name, without white space at its ends. */
static void pushdevicename(lua_State *L, cl_device_id d) {
  char name[256] = "";
  clGetDeviceInfo(d, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
  const char *s = name + strspn(name, " ");
  size_t n = strlen(s);
  while (n > 0 && isspace((unsigned char)s[n - 1]))
    n--;
  lua_pushlstring(L, s, n);
}

/* A loader of package.preload: runs the copy of the module at 1. */
static int loadcopy(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++) {
    const char *chunk = lua_pushfstring(L, "clshell.%s", copies[i].name);
    if (strcmp(chunk, name) != 0)
      continue;
    chunk = lua_pushfstring(L, "@lua/clshell/%s.lua",
                            luaL_gsub(L, copies[i].name, ".", "/"));
    if (luaL_loadbuffer(L, copies[i].code, strlen(copies[i].code), chunk) !=
        LUA_OK)
      return lua_error(L);
    lua_pushstring(L, name);
    lua_call(L, 1, 1);
    return 1;
  }
  return 0;
}

/* Where clshell's Lua files are not found, its copies are loaded. */
static void offercopies(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++) {
    lua_pushfstring(L, "clshell.%s", copies[i].name);
    lua_pushcfunction(L, loadcopy);
    lua_rawset(L, -3);
  }
  lua_pop(L, 1);
}

/* Pushes what require gives for WORDS, or its message. */
static int requirewords(lua_State *L) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, WORDS);
  return lua_pcall(L, 1, 1, 0);
}

/*
** Replaces the table at the top, what diagnostic.message takes, by its
** results: message and list. Where that fails, the message is the log.
*/
static void inwords(lua_State *L) {
  int job = lua_gettop(L);
  if (requirewords(L) != LUA_OK) {
    lua_settop(L, job);
    offercopies(L);
    (void)requirewords(L);
  }
  if (lua_istable(L, -1)) {
    lua_getfield(L, -1, "message");
    lua_pushvalue(L, job);
    if (lua_pcall(L, 1, 2, 0) == LUA_OK && lua_isstring(L, -2)) {
      lua_replace(L, job + 1);
      lua_replace(L, job);
      return;
    }
  }
  lua_settop(L, job);
  lua_getfield(L, job, "failure");
  lua_getfield(L, job, "log");
  lua_pushfstring(L, "build error (%s)\n%s", lua_tostring(L, -2),
                  lua_tostring(L, -1));
  lua_replace(L, job);
  lua_settop(L, job);
  lua_pushnil(L);
}

/* Pushes the driver's build log, without white space at its end. */
void clsh_pushdriverlog(lua_State *L, cl_program p, cl_device_id d) {
  size_t size = 0;
  clGetProgramBuildInfo(p, d, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
  char *text = lua_newuserdatauv(L, size + 1, 0);
  memset(text, 0, size + 1);
  clGetProgramBuildInfo(p, d, CL_PROGRAM_BUILD_LOG, size, text, NULL);
  size_t n = strlen(text);
  while (n > 0 && isspace((unsigned char)text[n - 1]))
    n--;
  lua_pushlstring(L, text, n);
  lua_remove(L, -2);
}

static void setstring(lua_State *L, const char *key, const char *value) {
  lua_pushstring(L, value);
  lua_setfield(L, -2, key);
}

/*
** Raises for a build that failed: the message tells each diagnostic with its
** place in the user's code; fields log, the driver's, and diagnostics.
*/
void clsh_buildfailed(lua_State *L, const Build *b, cl_int err) {
  lua_createtable(L, 0, 6);
  setstring(L, "log", b->log);
  setstring(L, "source", b->source);
  setstring(L, "name", b->name);
  setstring(L, "options", b->options);
  lua_pushboolean(L, b->istext);
  lua_setfield(L, -2, "is_text");
  lua_pushfstring(L, "%s %d", clsh_errorname(err), (int)err);
  lua_setfield(L, -2, "failure");
  pushdevicename(L, b->device);
  lua_setfield(L, -2, "device");
  inwords(L);
  int list = lua_gettop(L);
  clsh_pusherror(L, err, "clBuildProgram", lua_tostring(L, list - 1));
  setstring(L, "log", b->log);
  lua_pushvalue(L, list);
  lua_setfield(L, -2, "diagnostics");
  lua_error(L);
}
