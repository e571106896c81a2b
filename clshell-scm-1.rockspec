-- The OpenCL bindings as a module for stock Lua 5.4: run 'luarocks make' here.
-- SPDX-License-Identifier: MIT
rockspec_format = "3.0"
package = "clshell"
version = "scm-1"
source = {url = ""} -- luarocks make builds this tree
description = {
  summary = "OpenCL for Lua 5.4: the bindings of clshell as module 'cl'",
  detailed = [[
    Devices, queues, typed buffers, programs, kernels with checked arguments,
    and event timers. The shell itself, with the kernel families and the
    benchmarks, is built with 'make'.]],
  license = "MIT",
}
supported_platforms = {"unix"}
dependencies = {"lua ~> 5.4"}
external_dependencies = {OPENCL = {header = "CL/cl.h"}}
build = {
  type = "make",
  build_target = "lib",
  build_variables = {
    CC = "$(CC)",
    CFLAGS = "$(CFLAGS)",
    LUA_CFLAGS = "-I$(LUA_INCDIR)",
  },
  install_pass = false,
  install = {lib = {cl = "build/cl.so"}},
}
