// plugins.h - the plugins of the simulator Oclgrind in this folder: the
// requests of warps, for access, and data races, for check
// SPDX-License-Identifier: MIT
#ifndef clsh_plugins_h
#define clsh_plugins_h

namespace oclgrind {  // its headers have no guards
class Context;
class Plugin;
}  // namespace oclgrind

extern "C" {
typedef const void *Value;  // of LLVM
}

// races.cpp
oclgrind::Plugin *clsh_races(const oclgrind::Context *context);

#endif
