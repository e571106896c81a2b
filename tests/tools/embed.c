/*
** embed.c - what module cl leaves alone in a program that embeds it, and
** what it refuses. Prints the default stack size of threads before and after
** OpenCL is used, and the error of one class too many. Usage: embed
** SPDX-License-Identifier: MIT
*/
#include <pthread.h>
#include <stdio.h>

#include <lauxlib.h>
#include <lualib.h>

#include "cl/object.h"
#include "host/host.h"

#define MANY 64

static Class classes[MANY];

static void release(Object *o) {
  (void)o;
}

static size_t stacksize(void) {
  pthread_attr_t attr;
  size_t size = 0;
  if (pthread_getattr_default_np(&attr) == 0)
    pthread_attr_getstacksize(&attr, &size);
  return size;
}

static int define(lua_State *L) {
  for (int i = 0; i < MANY; i++) {
    classes[i] = (Class){.name = "Many", .size = sizeof(Object)};
    classes[i].release = release;
    clsh_class_define(L, &classes[i]);
    clsh_class_new(L, &classes[i], 0);
    lua_pop(L, 1);
  }
  return 0;
}

int main(void) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luaL_requiref(L, "cl", luaopen_cl, 1);
  size_t before = stacksize();
  if (luaL_dostring(L, "return #cl.devices(), cl.buffer('float', 1, 1)") != 0)
    printf("error: %s\n", lua_tostring(L, -1));
  printf("stack %zu %zu\n", before, stacksize());
  lua_pushcfunction(L, define);
  if (lua_pcall(L, 0, 0, 0) != LUA_OK)
    printf("classes: %s\n", luaL_tolstring(L, -1, NULL));
  lua_close(L);
  return 0;
}
