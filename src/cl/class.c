/*
** class.c - the objects of module `cl`: boxes that close once.
** An object is a full userdata that begins with its class, so a method
** recognises its objects even where debug.setmetatable has been at work.
** SPDX-License-Identifier: MIT
*/
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <lualib.h>

#include "object.h"
#include "type.h"

#define MAXCLASSES 24
#define MAXNAMES 511 /* methods and fields that a misspelt name may mean */
#define FEWNAMES 24  /* names that a message lists */
#define STEPBYTES (64 * 1024) /* foreign memory between two GC steps */

/* Registry keys of a class: no other module's can be the same. */
#define METHODKEY(class) ((const void *)(class))
#define FIELDKEY(class) ((const void *)((const char *)(class) + 1))
#define METAKEY(class) ((const void *)((const char *)(class) + 2))

static const Class *classes[MAXCLASSES]; /* the same for every state */
static int live[MAXCLASSES];             /* objects not yet closed */
static int nclasses;

static int classnumber(const Class *class) {
  for (int i = 0; i < nclasses; i++)
    if (classes[i] == class)
      return i;
  return -1;
}

/* The object at `arg`, closed or not; NULL for values of another class. */
static Object *toobject(lua_State *L, int arg, const Class *class) {
  if (lua_type(L, arg) != LUA_TUSERDATA || lua_rawlen(L, arg) < class->size)
    return NULL;
  Object *o = lua_touserdata(L, arg);
  return o->class == class ? o : NULL;
}

void *clsh_class_test(lua_State *L, int arg, const Class *class) {
  Object *o = toobject(L, arg, class);
  return o != NULL && !o->closed ? o : NULL;
}

/* The class of the value at `arg`; NULL: it is no object. */
static const Class *classof(lua_State *L, int arg) {
  for (int i = 0; i < nclasses; i++)
    if (toobject(L, arg, classes[i]) != NULL)
      return classes[i];
  return NULL;
}

/* The name of the class of the value at `arg`, or of its Lua type. */
const char *clsh_class_name(lua_State *L, int arg) {
  const Class *class = classof(L, arg);
  return class != NULL                 ? class->name
         : lua_isnone(L, arg)          ? "nothing"
         : lua_islightuserdata(L, arg) ? "cl.null"
                                       : luaL_typename(L, arg);
}

static const char *article(const Class *class) {
  return strchr("AEI", class->name[0]) != NULL ? "an" : "a";
}

/* The object at `arg`, closed or not; anything else raises. */
void *clsh_class_any(lua_State *L, int arg, const Class *class) {
  Object *o = toobject(L, arg, class);
  if (o == NULL)
    clsh_error_arg(L, arg, "must be %s %s; got %s", article(class),
                   class->name, clsh_class_name(L, arg));
  return o;
}

void *clsh_class_check(lua_State *L, int arg, const Class *class) {
  Object *o = clsh_class_any(L, arg, class);
  if (o->closed)
    clsh_error_arg(L, arg, "this %s is closed", class->name);
  return o;
}

/* The open object that option `name` gives, at stack index `idx`. */
void *clsh_class_option(lua_State *L, int idx, const Class *class,
                        const char *name) {
  Object *o = toobject(L, idx, class);
  if (o == NULL)
    clsh_error(L, "%s: must be %s %s; got %s", name, article(class),
               class->name, clsh_class_name(L, idx));
  if (o->closed)
    clsh_error(L, "%s: this %s is closed", name, class->name);
  return o;
}

/* Pushes a zeroed object, which release() must take as well. */
void *clsh_class_new(lua_State *L, const Class *class, int uservalues) {
  assert(classnumber(class) >= 0 && class->size >= sizeof(Object));
  Object *o = lua_newuserdatauv(L, class->size, uservalues);
  memset(o, 0, class->size);
  o->class = class;
  lua_rawgetp(L, LUA_REGISTRYINDEX, METAKEY(class));
  lua_setmetatable(L, -2);
  live[classnumber(class)]++;
  return o;
}

/* Pushes a zeroed object that keeps the value at `owner` as user value 1. */
void *clsh_class_newowned(lua_State *L, const Class *class, int uservalues,
                          int owner) {
  owner = lua_absindex(L, owner);
  void *o = clsh_class_new(L, class, uservalues);
  lua_pushvalue(L, owner);
  lua_setiuservalue(L, -2, 1);
  return o;
}

void clsh_class_close(Object *o) {
  if (o->closed)
    return;
  o->closed = true;
  assert(live[classnumber(o->class)] > 0);
  live[classnumber(o->class)]--;
  if (o->class->release != NULL)
    o->class->release(o);
}

/* The object of a metamethod or common method: its class is an upvalue. */
static Object *self(lua_State *L) {
  return clsh_class_any(L, 1, lua_touserdata(L, lua_upvalueindex(1)));
}

/** Buffer:close()
 * Gives the memory or the OpenCL object back now, not at some collection;
 * `local b <close> = ...` does so at the end of the block. A second close does
 * nothing, any other use of a closed object raises; `b.closed` tells.
 * Also: Array:close, CommandBuffer:close, Context:close, Event:close,
 * Image:close, Kernel:close, Launch:close, Program:close, Queue:close,
 * Sampler:close
 * Example:
 * local b <close> = cl.buffer("float", 1000) -- freed where the block ends
 * b:close()
 * print(b.closed) --> true
 */
/* __gc and __close are the same function. */
static int object_close(lua_State *L) {
  clsh_class_close(self(L));
  return 0;
}

static int object_closed(lua_State *L) {
  lua_pushboolean(L, self(L)->closed);
  return 1;
}

static int object_tostring(lua_State *L) {
  Object *o = self(L);
  lua_pushfstring(L, "%s%s", o->class->name, o->closed ? " (closed)" : "");
  return 1;
}

/* The name of the field that the running function returns. */
const char *clsh_class_field(lua_State *L) {
  return lua_tostring(L, lua_upvalueindex(2));
}

/* A field that is read as it is: upvalue 3 is its Field. */
static int object_field(lua_State *L) {
  const Field *f = lua_touserdata(L, lua_upvalueindex(3));
  const char *p = (const char *)self(L) + f->at;
  const Type *type =
      f->kind == 't' ? *(const Type *const *)(const void *)p : NULL;
  switch (f->kind) {
  case 'u':
    lua_getiuservalue(L, 1, (int)f->at);
    break;
  case 'n':
    lua_pushinteger(L, (lua_Integer) * (const size_t *)(const void *)p);
    break;
  case 'i':
    lua_pushinteger(L, *(const int *)(const void *)p);
    break;
  case 'b':
    lua_pushboolean(L, *(const bool *)p);
    break;
  default:
    lua_pushstring(L, f->kind == 's' ? p : type != NULL ? type->name : NULL);
  }
  return 1;
}

/* Adds the keys of the table at `t` to n names; returns the new number. */
static int listkeys(lua_State *L, int t, const char **names, int n) {
  for (lua_pushnil(L); lua_next(L, t) != 0; lua_pop(L, 1))
    if (n < MAXNAMES && lua_type(L, -2) == LUA_TSTRING)
      names[n++] = lua_tostring(L, -2);
  return n;
}

static int byname(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Pushes the text that Lua has for another library's name, or nil. */
static const char *pushword(lua_State *L, const Class *class,
                            const char *key) {
  if (clsh_hook_push(L, "word") != LUA_TFUNCTION)
    return NULL;
  lua_pushstring(L, class->name);
  lua_pushstring(L, key);
  lua_call(L, 2, 1);
  return lua_tostring(L, -1);
}

/* Pushes the rest of a message: the name that is meant or near, else a short
** list of all names. */
static const char *pushremedy(lua_State *L, const Class *class,
                              const char *key, const char *names[], int n) {
  const char *word = pushword(L, class, key);
  if (word != NULL)
    return lua_pushfstring(L, "; here it is %s", word);
  const char *near = clsh_nearest(key, names);
  if (near != NULL)
    return lua_pushfstring(L, "; did you mean '%s'?", near);
  if (n > FEWNAMES)
    return lua_pushliteral(L, "");
  qsort(names, (size_t)n, sizeof names[0], byname);
  return lua_pushfstring(L, "; there are: %s",
                         clsh_nearest_pushlist(L, names));
}

/* Raises: the object at 1 has no key like the value at 2. */
static int nokey(lua_State *L, const Class *class) {
  const char *names[MAXNAMES + 1];
  if (lua_type(L, 2) != LUA_TSTRING)
    return clsh_error(L, "%s %s takes the name of a field; got %s",
                      article(class), class->name, luaL_typename(L, 2));
  int n = listkeys(L, lua_upvalueindex(2), names, 0);
  n = listkeys(L, lua_upvalueindex(3), names, n);
  names[n] = NULL;
  const char *key = lua_tostring(L, 2);
  return clsh_error(L, "%s %s has no field or method '%s'%s", article(class),
                    class->name, key, pushremedy(L, class, key, names, n));
}

/*
** o.key: a method, else a field, else the answer of class->index. Other keys
** raise.
*/
static int object_index(lua_State *L) {
  const Class *class = lua_touserdata(L, lua_upvalueindex(1));
  const Object *o = clsh_class_any(L, 1, class);
  if (lua_type(L, 2) == LUA_TSTRING) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(2)) != LUA_TNIL)
      return 1;
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(3)) != LUA_TNIL) {
      if (o->closed && lua_tocfunction(L, -1) != object_closed)
        return clsh_error(L, "%s: this %s is closed", lua_tostring(L, 2),
                          class->name);
      lua_pushvalue(L, 1);
      lua_call(L, 1, 1);
      return 1;
    }
    lua_settop(L, 2);
  }
  int n = class->index != NULL ? class->index(L) : 0;
  return n > 0 ? n : nokey(L, class);
}

/* o.key = value: only an Array has elements to set. */
static int object_newindex(lua_State *L) {
  const Class *class = self(L)->class;
  return clsh_error(L, "%s %s has no field '%s' to set", article(class),
                    class->name, luaL_tolstring(L, 2, NULL));
}

static void setfunctions(lua_State *L, int table, const luaL_Reg *list,
                         const Class *class) {
  for (; list != NULL && list->name != NULL; list++) {
    lua_pushlightuserdata(L, (void *)class);
    lua_pushstring(L, list->name);
    lua_pushcclosure(L, list->func, 2); /* class, name */
    lua_setfield(L, table, list->name);
  }
}

/*
** Registers a class. Its metatable is closed to scripts, and methods and
** fields live in tables apart from it: o.__gc is nil.
*/
void clsh_class_define(lua_State *L, const Class *class) {
  static const luaL_Reg common_meta[] = {{"__gc", object_close},
                                         {"__close", object_close},
                                         {"__newindex", object_newindex},
                                         {"__tostring", object_tostring},
                                         {NULL, NULL}};
  static const luaL_Reg common_methods[] = {{"close", object_close},
                                            {NULL, NULL}};
  static const luaL_Reg common_fields[] = {{"closed", object_closed},
                                           {NULL, NULL}};
  if (classnumber(class) < 0) {
    if (nclasses == MAXCLASSES)
      clsh_error(L, "%s: there may be at most %d classes", class->name,
                 MAXCLASSES);
    classes[nclasses++] = class;
  }
  lua_newtable(L);
  int meta = lua_gettop(L);
  lua_pushvalue(L, meta);
  lua_rawsetp(L, LUA_REGISTRYINDEX, METAKEY(class));
  lua_pushstring(L, class->name);
  lua_setfield(L, meta, "__name");
  setfunctions(L, meta, common_meta, class);
  setfunctions(L, meta, class->meta, class);
  lua_pushboolean(L, 0);
  lua_setfield(L, meta, "__metatable");
  lua_newtable(L);
  setfunctions(L, meta + 1, common_methods, class);
  setfunctions(L, meta + 1, class->methods, class);
  lua_pushvalue(L, meta + 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, METHODKEY(class));
  lua_newtable(L);
  setfunctions(L, meta + 2, common_fields, class);
  setfunctions(L, meta + 2, class->fields, class);
  lua_pushvalue(L, meta + 2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, FIELDKEY(class));
  lua_pushlightuserdata(L, (void *)class);
  lua_insert(L, meta + 1);
  lua_pushcclosure(L, object_index, 3); /* class, methods, fields */
  lua_setfield(L, meta, "__index");
  assert(lua_gettop(L) == meta);
  lua_pop(L, 1);
}

/* Adds fields that are read as they are. */
void clsh_class_addfields(lua_State *L, const Class *class,
                          const Field *list) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, FIELDKEY(class));
  for (; list->kind != 0; list++) {
    lua_pushlightuserdata(L, (void *)class);
    lua_pushstring(L, list->name);
    lua_pushlightuserdata(L, (void *)list);
    lua_pushcclosure(L, object_field, 3);
    lua_setfield(L, -2, list->name);
  }
  lua_pop(L, 1);
}

/* Pushes a table of fields of the object at 1: "type shape". */
void clsh_class_pushfields(lua_State *L, const char *names) {
  lua_newtable(L);
  for (size_t n; *names != '\0'; names += n + (names[n] == ' ')) {
    n = strcspn(names, " ");
    lua_pushlstring(L, names, n);
    lua_pushvalue(L, -1);
    lua_gettable(L, 1);
    lua_rawset(L, -3);
  }
}

static const Class *findclass(const char *name) {
  for (int i = 0; i < nclasses; i++)
    if (strcmp(classes[i]->name, name) == 0)
      return classes[i];
  return NULL;
}

/*
** Adds methods and fields, NULL for none, to a class that another file has
** made.
*/
void clsh_class_add(lua_State *L, const char *name, const luaL_Reg *methods,
                    const luaL_Reg *fields) {
  const Class *class = findclass(name);
  assert(class != NULL);
  lua_rawgetp(L, LUA_REGISTRYINDEX, METHODKEY(class));
  setfunctions(L, lua_gettop(L), methods, class);
  lua_rawgetp(L, LUA_REGISTRYINDEX, FIELDKEY(class));
  setfunctions(L, lua_gettop(L), fields, class);
  lua_pop(L, 2);
}

/*
** Counts foreign memory (device memory, driver objects), which Lua's
** collector does not see, and makes collection steps in proportion.
*/
void clsh_class_pressure(lua_State *L, size_t bytes) {
  static size_t debt;
  debt += bytes;
  if (debt < STEPBYTES || !lua_gc(L, LUA_GCISRUNNING))
    return;
  size_t kib = debt >> 10;
  debt = 0;
  lua_gc(L, LUA_GCSTEP, kib > 1 << 20 ? 1 << 20 : (int)kib);
}

/* Pushes the registry's table `name`, whose keys are weak. */
void clsh_class_pushweak(lua_State *L, const char *name) {
  if (luaL_getsubtable(L, LUA_REGISTRYINDEX, name))
    return;
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
}

/* Makes the object at the top a key of the table `name`. */
void clsh_class_noteweak(lua_State *L, const char *name) {
  clsh_class_pushweak(L, name);
  lua_pushvalue(L, -2);
  lua_pushboolean(L, 1);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

static const Class *checkclass(lua_State *L, int arg) {
  const char *names[MAXCLASSES + 1];
  const char *name = luaL_checkstring(L, arg);
  const Class *class = findclass(name);
  if (class != NULL)
    return class;
  for (int i = 0; i < nclasses; i++)
    names[i] = classes[i]->name;
  names[nclasses] = NULL;
  const char *near = clsh_nearest(name, names);
  clsh_error_arg(L, arg, "no class '%s'%s%s", name,
                 near != NULL ? "; did you mean " : "",
                 near != NULL ? near : "");
  return NULL;
}

/* Whether a name is a metamethod of an operator, which cl.extend sets. */
static bool isoperator(const char *name) {
  static const char names[] = "__add __sub __mul __div __mod __pow __unm "
                              "__idiv __band __bor __shl __bxor __shr __bnot "
                              "__lt __le ";
  const char *at = strncmp(name, "__", 2) == 0 ? strstr(names, name) : NULL;
  return at != NULL && at[strlen(name)] == ' ' && strchr(name, ' ') == NULL;
}

/* Pushes the table that holds method or operator `name` of a class. */
static void pushhome(lua_State *L, const Class *class, const char *name) {
  lua_rawgetp(L, LUA_REGISTRYINDEX,
              isoperator(name) ? METAKEY(class) : METHODKEY(class));
}

/* Stands for an announced method: loads its file, then calls the method. */
static int method_announced(lua_State *L) {
  const Class *class = lua_touserdata(L, lua_upvalueindex(1));
  lua_pushvalue(L, lua_upvalueindex(3));
  lua_call(L, 0, 0);
  pushhome(L, class, lua_tostring(L, lua_upvalueindex(2)));
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_rawget(L, -2);
  lua_remove(L, -2);
  if (lua_tocfunction(L, -1) == method_announced)
    return clsh_error(L, "%s: the method was announced, but is not there",
                      lua_tostring(L, lua_upvalueindex(2)));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* Whether objects of a class have a field `name`, the string at index 4. */
static bool hasfield(lua_State *L, const Class *class) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, FIELDKEY(class));
  lua_pushvalue(L, 4);
  bool found = lua_rawget(L, -2) != LUA_TNIL;
  lua_rawgetp(L, LUA_REGISTRYINDEX, METAKEY(class));
  lua_pushliteral(L, "__named");
  if (!found && lua_rawget(L, -2) == LUA_TFUNCTION) {
    lua_pushvalue(L, 4);
    lua_call(L, 1, 1);
    found = lua_toboolean(L, -1);
  }
  lua_pop(L, 4);
  return found;
}

/* Sets method `name`, at index 4, to the function on the top, and pops it. */
static void addmethod(lua_State *L, const Class *class) {
  const char *name = lua_tostring(L, 4);
  if (hasfield(L, class))
    clsh_error_arg(L, 2, "%s has a field '%s' already", class->name, name);
  if (strncmp(name, "__", 2) == 0 && !isoperator(name))
    clsh_error_arg(L, 2, "'%s' is no operator; there are __add, __unm ...",
                   name);
  pushhome(L, class, name);
  lua_pushvalue(L, 4);
  bool there = lua_rawget(L, -2) != LUA_TNIL;
  bool announced = lua_tocfunction(L, -1) == method_announced;
  if (there && !(announced && lua_isboolean(L, 3) && lua_toboolean(L, 3)))
    clsh_error_arg(L, 2, "%s has a method '%s' already", class->name, name);
  lua_pop(L, 1);
  lua_pushvalue(L, 4);
  lua_pushvalue(L, -3);
  lua_rawset(L, -3);
  lua_pop(L, 2);
}

/** cl.extend(class, methods)
 * Adds the functions of table `methods` to a class of the module, such as
 * "Buffer" or "Array": `cl.extend("Buffer", {sum = function(b) ... end})`
 * makes `b:sum()` work on every buffer, and the name of a metamethod such as
 * "__add" gives the class an operator. The name of a method or field that the
 * class has already raises. `cl.extend(class, names, load)` announces the
 * methods in the list `names`: the first call of such a method calls `load`,
 * which adds them by `cl.extend(class, methods, true)`.
 * Example:
 * cl.extend("Array", {total = function(a)
 *   local sum = 0
 *   for i = 1, #a do sum = sum + a[i] end
 *   return sum
 * end})
 * print(cl.array("int", {2, 2}, 3):total()) --> 12
 */
static int cl_extend(lua_State *L) {
  const Class *class = checkclass(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 3);
  bool names = lua_isfunction(L, 3);
  for (lua_pushnil(L); lua_next(L, 2) != 0;) {
    int key = names ? -1 : -2;
    if (lua_type(L, key) != LUA_TSTRING || (!names && !lua_isfunction(L, -1)))
      return clsh_error_arg(L, 2, "must hold names with functions");
    lua_pushvalue(L, key);
    lua_insert(L, 4); /* name, key, value */
    if (names) {
      lua_pop(L, 1);
      lua_pushlightuserdata(L, (void *)class);
      lua_pushvalue(L, 4);
      lua_pushvalue(L, 3);
      lua_pushcclosure(L, method_announced, 3);
    }
    addmethod(L, class);
    lua_remove(L, 4);
  }
  return 0;
}

/*
** Replaces a function of library debug that would take user values or the
** finalizer from an object: C would then use objects that were collected.
** debug.getmetatable gives a copy.
*/
static int debug_guard(lua_State *L) {
  const char *name = lua_tostring(L, lua_upvalueindex(2));
  const Class *class = classof(L, 1);
  if (class != NULL && strcmp(name, "getmetatable") == 0) {
    lua_newtable(L);
    lua_getmetatable(L, 1);
    for (lua_pushnil(L); lua_next(L, -2) != 0;) {
      lua_pushvalue(L, -2);
      lua_insert(L, -2);
      lua_rawset(L, -5);
    }
    lua_pop(L, 1);
    return 1;
  }
  if (class != NULL)
    return clsh_error(L, "debug.%s: scripts must not change %s %s", name,
                      article(class), class->name);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static void guarddebug(lua_State *L) {
  static const char *const names[] = {"getmetatable", "setmetatable",
                                      "setuservalue"};
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  bool loaded = lua_getfield(L, -1, LUA_DBLIBNAME) == LUA_TTABLE;
  for (int i = 0; i < 3 && loaded; i++) {
    lua_getfield(L, -1, names[i]);
    bool guarded = lua_tocfunction(L, -1) == debug_guard;
    lua_pushstring(L, names[i]);
    lua_pushcclosure(L, debug_guard, 2);
    if (guarded)
      lua_pop(L, 1);
    else
      lua_setfield(L, -2, names[i]);
  }
  lua_pop(L, 2);
}

static void addnames(lua_State *L, const void *key, int list) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, key) == LUA_TTABLE)
    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
      lua_pushvalue(L, -2);
      lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
    }
  lua_pop(L, 1);
}

/*
** Pushes the list of other keys of the object at 1, such as the kernels of a
** program; nil without such keys.
*/
static void pushnames(lua_State *L, const Class *class) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, METAKEY(class));
  lua_pushliteral(L, "__names");
  lua_rawget(L, -2);
  lua_remove(L, -2);
  lua_pushvalue(L, 1);
  if (lua_tocfunction(L, -2) == NULL || lua_pcall(L, 1, 1, 0) != LUA_OK ||
      lua_type(L, -1) != LUA_TTABLE) {
    lua_settop(L, 3); /* closed, or after a fork */
    lua_pushnil(L);
  }
}

/** cl.members(object) -> methods, fields, names
 * Lists of the methods, the fields and the other keys of an object of this
 * module (the kernels of a program, the values of a Device; nil without such
 * keys); nothing for any other value. A string stands for the class of that
 * name, such as "Buffer". Completion at the prompt calls this: no user code
 * runs, and no device is waited for.
 * Example:
 * local methods, fields = cl.members(cl.array("int", 3))
 * print(#methods > 5, #fields > 2) --> true true
 */
static int cl_members(lua_State *L) {
  const char *name = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : NULL;
  const Class *class = name != NULL ? findclass(name) : classof(L, 1);
  lua_settop(L, 1);
  if (class == NULL)
    return 0;
  lua_newtable(L);
  addnames(L, METHODKEY(class), lua_gettop(L));
  lua_newtable(L);
  addnames(L, FIELDKEY(class), lua_gettop(L));
  if (name != NULL)
    return 2;
  pushnames(L, class);
  return 3;
}

/** cl.live() -> table
 * How many objects of each class are open: {Buffer = 3, Event = 1}.
 * Tests end with this call: objects left after a full collection have leaked.
 * Example:
 * local b <close> = cl.buffer("int", 3)
 * print(cl.live().Buffer >= 1) --> true
 */
static int cl_live(lua_State *L) {
  lua_newtable(L);
  for (int i = 0; i < nclasses; i++)
    if (live[i] != 0) {
      lua_pushinteger(L, live[i]);
      lua_setfield(L, -2, classes[i]->name);
    }
  return 1;
}

/** cl.class(value) -> string or nil
 * The class of an object of module cl, open or closed, such as "Buffer" or
 * "Event"; nil for other values.
 * Example: print(cl.class(cl.array("int", 4)), cl.class(5)) --> Array nil
 */
static int cl_class(lua_State *L) {
  luaL_checkany(L, 1);
  const Class *class = classof(L, 1);
  lua_pushstring(L, class != NULL ? class->name : NULL);
  return 1;
}

void clsh_class_open(lua_State *L) {
  static const luaL_Reg functions[] = {{"class", cl_class},
                                       {"extend", cl_extend},
                                       {"live", cl_live},
                                       {"members", cl_members},
                                       {NULL, NULL}};
  guarddebug(L);
  luaL_setfuncs(L, functions, 0);
}
