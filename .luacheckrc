-- .luacheckrc - Lua 5.4, and the names that clshell preloads
-- SPDX-License-Identifier: MIT
std = "lua54"
max_line_length = 79
read_globals = {
  "cl", "matrix", "dia", "csr", "gemm", "spmv", "transpose", "reduce", "scan",
  "sort", "gemv", "stencil", "conv2d", "bench", "peaks", "help",
  "compare", "roofline", "lesson", "tune", "check", "access", "counters", "course",
  "occupancy", "family", "calibrate", "history", "best", "prune", "results", "plot",
  "task", "judge",
  "time", "show",
}
