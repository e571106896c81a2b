-- cuda/notes.lua - the differences between a kernel here and in CUDA, in notes
-- SPDX-License-Identifier: MIT

local M = {}

-- Notes about the arguments that a kernel has only here.
local function hidden_notes(t, notes)
  local seen = {}
  for _, fn in ipairs(t.functions.list) do
    for _, h in ipairs(fn.kernel and fn.hidden or {}) do
      if not seen[h.token] then
        seen[h.token] = true
        notes[#notes + 1] = {first = h.token.first,
          text = h.space == "local" and ("CUDA: extern __shared__ %s, of "
            .. "the size in <<<>>>; here: an argument, cl.localmem(\"%s\", n)")
            :format(h.name, h.type)
            or ("CUDA: %s %s; here: an argument, cl.buffer(\"%s\", n)")
            :format(h.space == "constant" and "__constant__" or "__device__",
              h.name, h.type)}
      end
    end
  end
end

-- Notes about kernels whose names are words of OpenCL C.
local function renamed_notes(t, notes)
  for _, fn in ipairs(t.functions.list) do
    if fn.kernel and fn.new ~= fn.name then
      notes[#notes + 1] = {first = t.tokens[fn.at].first,
        text = ("CUDA: a kernel named %s; here: %s, as the name is a word of "
        .. "OpenCL C"):format(fn.name, fn.new)}
    end
  end
end

-- Notes about kernels that get vectors of three, whose sizes differ.
local function vector_notes(t, notes)
  for _, fn in ipairs(t.functions.list) do
    for _, p in ipairs(fn.kernel and fn.body and fn.params or {}) do
      local type = p.pointer and t:text_of(p.first, p.last)
        :match "%f[%w_]%l+3%f[^%w_]"
      if type then
        notes[#notes + 1] = {first = t.tokens[p.first].first,
          text = ("CUDA: %s %s, three numbers each; here: four, so take a "
          .. "pointer to %s, and vload3(i, p)"):format(type, p.name or "*",
          type:sub(1, -2))}
      end
    end
  end
end

--- notes.list(t) -> list of {first, text}
--- The notes of a translation t about its kernels' names and arguments; first:
--- the place in the text.
function M.list(t)
  local notes = {}
  hidden_notes(t, notes)
  renamed_notes(t, notes)
  vector_notes(t, notes)
  return notes
end

return M
