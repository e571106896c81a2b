/*
** binary.c - a program's binary as a string, with a head that tells damage and
** foreign devices: drivers trust such bytes and end the process over bad ones.
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <string.h>

#include "program.h"

#define MAGIC "clshell binary 1\n"
#define HEADLINES 4

#define TEXTSIZE 256

/* A text of a device, of one line in any case, whatever the driver wrote. */
static void devicetext(cl_device_id d, cl_device_info key,
                       char text[TEXTSIZE]) {
  if (clGetDeviceInfo(d, key, TEXTSIZE, text, NULL) != CL_SUCCESS)
    text[0] = '\0';
  text[TEXTSIZE - 1] = '\0';
  text[strcspn(text, "\n")] = '\0';
}

/* Pushes the head for bytes of a device: magic, device, driver, sum. */
static const char *pushhead(lua_State *L, cl_device_id d, const char *bytes,
                            size_t n) {
  char name[TEXTSIZE] = "", driver[TEXTSIZE] = "", sum[48];
  devicetext(d, CL_DEVICE_NAME, name);
  devicetext(d, CL_DRIVER_VERSION, driver);
  snprintf(sum, sizeof sum, "%zu %016llx", n,
           (unsigned long long)clsh_source_hash(0, bytes, n));
  return lua_pushfstring(L, MAGIC "%s\n%s\n%s\n", name, driver, sum);
}

/* The bytes of the first n lines; 0: there are fewer. */
static size_t lines(const char *s, size_t len, int n) {
  const char *p = s;
  for (; n > 0 && p != NULL; n--) {
    p = memchr(p, '\n', len - (size_t)(p - s));
    p += p != NULL;
  }
  return p != NULL ? (size_t)(p - s) : 0;
}

/*
** The driver's bytes in the string at `arg`, their number in `*len`. Raises
** for one that is not the result of Program:binary on such a device.
*/
const char *clsh_binary_check(lua_State *L, int arg, cl_device_id d,
                              size_t *len) {
  const char *s = luaL_checklstring(L, arg, len);
  size_t head = lines(s, *len, HEADLINES);
  if (strncmp(s, MAGIC, strlen(MAGIC)) != 0)
    clsh_error_arg(L, arg,
                   "must be the result of prog:binary(); a driver's "
                   "own bytes need {raw = true}, and damaged ones can end "
                   "the program");
  const char *due = pushhead(L, d, s + head, *len - head);
  size_t whose = lines(due, strlen(due), HEADLINES - 1);
  if (head != 0 &&
      (lines(s, *len, HEADLINES - 1) != whose || memcmp(s, due, whose) != 0)) {
    lua_pushlstring(L, s, lines(s, *len, HEADLINES - 1) - 1);
    const char *theirs = luaL_gsub(L, lua_tostring(L, -1), MAGIC, "");
    clsh_error_arg(L, arg,
                   "the binary is of another device or driver version, "
                   "'%s'; build the program from its source",
                   luaL_gsub(L, theirs, "\n", " "));
  }
  if (head == 0 || head != strlen(due) || memcmp(s, due, head) != 0)
    clsh_error_arg(L, arg,
                   "the binary is damaged: its bytes are not those "
                   "that its head tells of; build the program from its "
                   "source again");
  *len -= head;
  return s + head;
}

static const char *const binary_options[] = {"raw", NULL};

/** Program:binary([opts]) -> string
 * The binary of the program, for cl.build_binary: the driver's bytes behind a
 * head that tells device, driver and a checksum. On NVIDIA's driver the bytes
 * are PTX text.
 * Options:
 *   raw  false  true: the driver's bytes alone
 * Example:
 * local prog = cl.build "kernel void f(void) {}"
 * print(#prog:binary() > #prog:binary{raw = true}) --> true
 */
static int program_binary(lua_State *L) {
  Program *p = clsh_program_check(L, 1);
  lua_settop(L, 2);
  clsh_option_check(L, 2, binary_options, "prog:binary");
  bool raw = clsh_option_flag(L, 2, "raw", false);
  size_t size = 0;
  clsh_error_check(L,
                   clGetProgramInfo(p->handle, CL_PROGRAM_BINARY_SIZES,
                                    sizeof size, &size, NULL),
                   "clGetProgramInfo");
  if (size == 0)
    return clsh_error(L, "the driver keeps no binary of this program");
  unsigned char *bytes = lua_newuserdatauv(L, size, 0);
  clsh_error_check(L,
                   clGetProgramInfo(p->handle, CL_PROGRAM_BINARIES,
                                    sizeof bytes, &bytes, NULL),
                   "clGetProgramInfo");
  lua_pushstring(L, "");
  if (!raw)
    pushhead(L, p->context->device, (char *)bytes, size);
  lua_pushlstring(L, (char *)bytes, size);
  lua_concat(L, 2);
  return 1;
}

void clsh_binary_open(lua_State *L) {
  static const luaL_Reg methods[] = {{"binary", program_binary}, {NULL, NULL}};
  clsh_class_add(L, "Program", methods, NULL);
  clsh_option_declare(L, "Program:binary", binary_options);
}
