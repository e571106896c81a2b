-- ladder/asm.lua - prog:asm(): the machine code of a program, as text
-- SPDX-License-Identifier: MIT

local base_text = require "clshell.base.text"
local argument = require "clshell.base.argument"
local cl = require "cl"
local file = require "clshell.base.file"

local M = {}

-- The 64-bit ELF files inside a binary, little-endian. PoCL keeps one for
-- each kernel, with code for any local size. A file ends with its table of
-- sections.
local function elf_files(binary)
  local list, at = {}, 1
  while true do
    at = binary:find("\127ELF\2\1", at, true)
    if not at or at + 63 > #binary then
      return list
    end
    local sections = string.unpack("<I8", binary, at + 0x28)
    local size, count = string.unpack("<I2I2", binary, at + 0x3A)
    local last = at + sections + size * count - 1
    if last > at and last <= #binary then
      list[#list + 1] = binary:sub(at, last)
    end
    at = at + 6
  end
end

-- The disassembly of an ELF file by objdump, or nil where there is none.
local function disassemble(elf)
  local name, _ <close> = file.temporary()
  file.write(name, elf, "the binary")
  local pipe <close> = assert(io.popen("objdump -d --no-show-raw-insn "
    .. "-j .text " .. base_text.quote(name) .. " 2>/dev/null"))
  local text = pipe:read("a")
  local ok = pipe:close()
  return ok and text ~= "" and text:gsub("^.-\n(Disassembly)", "%1") or nil
end

--- Program:asm() -> string
--- The output of the device's compiler, as text: PTX on NVIDIA's driver; on
--- PoCL the machine code of each kernel, disassembled by objdump (package
--- binutils), in the form for any local size. Elsewhere an error names the
--- form that the driver keeps: `prog:binary{raw = true}` has it.
--- Example:
--- local prog = cl.build "kernel void f(global int *x) { *x = 1; }"
--- local ok, text = pcall(prog.asm, prog) -- an error where there is none
--- print(text)
function M.asm(prog)
  local binary = prog:binary{raw = true}
  if not binary:find "[^%g%s\0]" then
    return (binary:gsub("\0", ""))
  end
  local files = elf_files(binary)
  if #files == 0 then
    cl.error(("Program:asm: the driver keeps neither text nor ELF code (%d "
      .. "bytes)"):format(#binary),
      {hint = "prog:binary{raw = true} has them"})
  end
  local parts = {}
  for i, elf in ipairs(files) do
    parts[i] = disassemble(elf) or cl.error(
      "Program:asm: objdump is needed to disassemble",
      {hint = "Debian, Ubuntu: apt-get install binutils"})
  end
  return table.concat(parts, "\n")
end

cl.extend("Program",
  argument.methods("Program", {asm = M.asm}, "Program"), true)

return M
