-- base/machine.lua - the machine of this process: its name, its operating
-- system, its processor, its tools; without OpenCL
-- SPDX-License-Identifier: MIT

local M = {}

-- The beginning of a file, or nil: cpuinfo of many cores is long.
local function head(path)
  local f <close> = io.open(path)
  return f and f:read(4096)
end

-- The first line that a command prints.
local function printed(command)
  local p <close> = assert(io.popen(command .. " 2>/dev/null"))
  return p:read "l"
end

--- machine.release(name) -> string or nil
--- A value of /etc/os-release.
function M.release(name)
  return ("\n" .. (head "/etc/os-release" or "")):match("\n" .. name
    .. '="?([^"\n]*)')
end

--- machine.system() -> string
--- The name of the operating system.
function M.system()
  return M.release "PRETTY_NAME" or printed "uname -sr"
end

-- PATH, then CUDA's toolkit, AMD's compiler, and CUDA's tools among the Python
-- packages.
local FIND = [[
for d in "${CUDA_HOME:-/usr/local/cuda}" "${CUDA_PATH:-/usr/local/cuda}" \
    /usr/local/cuda /opt/rocm/llvm "$VIRTUAL_ENV"/lib/python3*/*/nvidia/* \
    "$CONDA_PREFIX"/lib/python3*/*/nvidia/* \
    "$HOME"/.local/lib/python3*/*/nvidia/* \
    /usr/local/lib/python3*/*/nvidia/* /usr/lib/python3*/*/nvidia/*; do
  PATH=$PATH:$d/bin
done
command -v %s]]

--- machine.tool(name) -> path, or nil
--- Where a program is, such as "ptxas": on PATH, in CUDA's toolkit (CUDA_HOME,
--- CUDA_PATH, /usr/local/cuda), in AMD's compiler, among Python's packages.
function M.tool(name)
  return printed("{ " .. FIND:format(name) .. "\n}")
end

local host -- of M.host, worked out once

--- machine.host() -> {name =, os =, cpu =, cores =}
--- The machine as a record keeps it: the name of the host, the operating
--- system with its kernel, the processor, and the number of its cores.
function M.host()
  if not host then
    local kernel = head "/proc/sys/kernel/osrelease"
    local found, system = pcall(require, "clshell.system")
    host = {
      name = (head "/proc/sys/kernel/hostname" or printed "uname -n" or "")
        :match "%S+",
      os = kernel and ("%s, Linux %s"):format(M.system() or "Linux",
        kernel:match "%S+") or M.system(),
      cpu = (head "/proc/cpuinfo" or ""):match "model name%s*:%s*([^\n]+)",
      cores = found and system.cores() or nil,
    }
  end
  return host
end

return M
