-- data/asked_layout.lua - the layout of a struct or union of a source, asked
-- of the compiler: only the names of fields are read from the text, and the
-- lines of the preprocessor between them stand between the questions as well
-- SPDX-License-Identifier: MIT
local argument = require "clshell.base.argument"
local cl = require "cl"
local lexer = require "clshell.cuda.cuda_tokens"
local set = require "clshell.base.text".set
local text = require "clshell.base.text"

local M = {}

local CONDITION = set "if ifdef ifndef elif else endif"
local RECORD = set "struct union"
local POINTERS = {[4] = "uint", [8] = "ulong"} -- by size
local types = cl.types()
local UNDEFS = "\n#undef " .. table.concat(types, "\n#undef ") .. "\n"
local hooks = debug.getregistry()["cl.hooks"]

-- The place behind attributes at token i.
local function behind_attributes(tokens, i)
  while tokens[i].text == "__attribute__" do
    i = lexer.behind(tokens, i + 1)
  end
  return i
end

-- The record that begins at token i, "struct" or "union": {tag, open, stop}.
local function record_at(tokens, i)
  local at = behind_attributes(tokens, i + 1)
  local tag = tokens[at].kind == "name" and tokens[at].text or nil
  at = behind_attributes(tokens, tag and at + 1 or at)
  return tokens[at].text == "{" and tokens[at].other and {tag = tag,
    kind = tokens[i].text, open = at, stop = tokens[at].other} or nil
end

-- The declarators in tokens i to j: {name, dims (their number), pointer}.
local function declarators(tokens, i, j)
  local list = {}
  for _, range in ipairs(lexer.split(tokens, i, j)) do
    local d, at = {dims = 0}, range[1]
    while at <= range[2] do
      local token = tokens[at]
      if token.text == "__attribute__" then
        at = behind_attributes(tokens, at) - 1
      elseif token.text == "[" then
        d.dims, d.open = d.dims + 1, token.other == at + 1
      elseif token.kind == "name" and d.dims == 0 then
        d.type, d.name = d.name, token.text
      end
      d.pointer = d.pointer or token.text == "*"
      d.bits = d.bits or token.text == ":"
      d.enum = d.enum or token.text == "enum"
      at = lexer.behind(tokens, at)
    end
    list[#list + 1] = d
  end
  return list
end

-- The records of a text by their names, the typedefs of other types, and the
-- last record that lies in no other.
local function records_of(tokens)
  local records, typedefs, last = {}, {}, nil
  for i = 1, #tokens do
    local r = RECORD[tokens[i].text] and record_at(tokens, i)
    local typedef = tokens[i].text == "typedef"
      or r and tokens[i - 1].text == "typedef"
    local stop = i
    while typedef and stop <= #tokens and tokens[stop].text ~= ";" do
      stop = lexer.behind(tokens, stop)
    end
    if r then
      r.type = r.tag and r.kind .. " " .. r.tag
      for _, d in ipairs(typedef and declarators(tokens,
          behind_attributes(tokens, r.stop + 1), stop - 1) or {}) do
        if d.name and not d.pointer and d.dims == 0 then
          r.type = r.tag and r.type or d.name
          records[d.name] = r
        end
      end
      records[r.tag or ""] = r
      if not last or r.open > last.stop then
        last = r
      end
    elseif typedef and not (RECORD[tokens[i + 1].text]
        and record_at(tokens, i + 1)) then
      local list = declarators(tokens, i + 1, stop - 1)
      for _, d in ipairs(list) do
        d.type = list[1].type
        typedefs[d.name or ""] = d
      end
    end
  end
  return records, typedefs, last
end

local Question = {}
Question.__index = Question

-- Adds a line that tells a number, and returns its place.
function Question:number(format, ...)
  self.count = self.count + 1
  self.lines[#self.lines + 1] = ("o[%d] = (uint)("):format(self.count - 1)
    .. format:format(...) .. ");"
  return self.count
end

-- Asks a field, and returns it with the places of its numbers. `path` leads
-- from the whole record, `type`, to the field's record.
function Question:field(d, record, path)
  if not d.name then
    cl.error(("cl.struct: a field of %s has no name"):format(self.type))
  elseif d.open then
    cl.error(("cl.struct: %s: an array must have a size"):format(d.name))
  elseif d.bits then
    cl.error(("cl.struct: %s: a bit-field has no common layout; use a whole "
      .. "type"):format(d.name))
  end
  local place = path .. d.name
  local f = {name = d.name, size_at = self:number("sizeof(%s%s)", self.value,
    place), pointer = d.pointer, enum = d.enum}
  f.offset_at = self:number("__builtin_offsetof(%s, %s)", self.type, place)
  local type, dims = d.type, d.dims
  for _ = 1, 9 do -- typedefs of typedefs
    local alias = not d.pointer and self.typedefs[type]
    if not alias or alias.type == type then
      break
    end
    f.pointer, f.enum = f.pointer or alias.pointer, f.enum or alias.enum
    type, dims = alias.type, dims + alias.dims
  end
  f.sizes_at = {}
  for k = 1, dims do
    place = place .. "[0]"
    f.sizes_at[k] = self:number("sizeof(%s%s)", self.value, place)
  end
  f.kind_at = self:number("CLSH_KIND(__typeof__(%s%s))", self.value, place)
  record = record or not d.pointer and self.records[type]
  if record and not f.pointer then
    f.start_at = self:number("__builtin_offsetof(%s, %s)", self.type, place)
    f.inner = {type = record.tag and record.type,
      fields = self:record(record, place .. ".")}
  end
  return f
end

-- Asks the fields of a record, with the conditions between them.
function Question:record(record, path, fields)
  local tokens, at = self.tokens, record.open + 1
  fields = fields or {}
  while at < record.stop do
    local stop, inner = at, nil
    if tokens[at].kind == "directive" then
      if CONDITION[tokens[at].text:match "^#%s*(%a+)"] then
        table.insert(self.lines, tokens[at].text)
      end
    else
      local first = at
      while stop < record.stop and tokens[stop].text ~= ";" do
        local r = RECORD[tokens[stop].text] and record_at(tokens, stop)
        inner, stop = r or inner, r and r.stop or stop
        if tokens[stop].text == "{" then -- of an enum
          first = tokens[stop].other + 1
        end
        stop = lexer.behind(tokens, stop)
      end
      first = inner and behind_attributes(tokens, inner.stop + 1) or first
      local list = declarators(tokens, first, stop - 1)
      for _, d in ipairs(list) do
        d.type = list[1].type -- int a, b: the first has the type's words
        fields[#fields + 1] = self:field(d, inner, path)
      end
      if inner and #list == 0 then -- its fields are the outer record's
        self:record(inner, path, fields)
      end
    end
    at = stop + 1
  end
  return fields
end

-- Builds and runs the questions behind a source; the answers.
local function answers(question, source, kinds, opts)
  local p <close> = cl.build((opts.defines or "") .. source .. UNDEFS .. kinds
    .. "__kernel void clsh_layout(__global uint *o) {\n"
    .. table.concat(question.lines, "\n") .. "\n}\n",
    {options = opts.options, context = opts.context, name = "cl.struct"})
  local o <close> = cl.buffer("uint", question.count, 0,
    {context = opts.context})
  p:kernel("clsh_layout"):range(1)(o)
  return o:read()
end

local record

-- A field as a struct has it; nil where a condition left it out.
local function field(f, told, base)
  local size = told[f.size_at]
  if size == 0 then
    return told[f.kind_at] > 0 and cl.error(("cl.struct: %s: an array must "
      .. "have elements"):format(f.name)) or nil
  end
  local out = {name = f.name, size = size, offset = told[f.offset_at] - base,
    count = 1}
  for _, at in ipairs(f.sizes_at) do
    out.dims = out.dims or {}
    out.dims[#out.dims + 1] = size // told[at]
    out.count, size = out.count * (size // told[at]), told[at]
  end
  local name = types[told[f.kind_at]] or f.pointer and POINTERS[size]
    or f.enum and "int"
  if not name and f.inner then
    out.type = record(f.inner, told, told[f.start_at], size)
  elseif name then
    out.type = {name = name, size = size, align = size}
  else -- a type that the text does not tell: its bytes
    out.type = {name = "uchar", size = 1, align = 1}
    out.dims = out.dims or {}
    out.dims[#out.dims + 1], out.count = size, out.count * size
  end
  return out
end

function record(inner, told, base, size)
  local s = {name = inner.type, size = size, fields = {}}
  for _, f in ipairs(inner.fields) do
    s.fields[#s.fields + 1] = field(f, told, base)
  end
  return s
end

--- asked_layout.of(what, source, name, opts) -> table
--- The struct or union `name` of a source, or its last one: {name, size,
--- align, fields, source (its declarations)}; a field has name, offset, size,
--- count, dims and type, which is {name, size} or such a table. `opts`:
--- context, options, defines (lines). Raises where the source has no such
--- record, or the compiler refuses it.
function M.of(what, source, name, opts)
  local tokens = lexer.tokens(source)
  local records, typedefs, last = records_of(tokens)
  local r = last
  if name then
    local word = name:match "([%w_]+)%s*$" or ""
    for _ = 1, 9 do
      word = not records[word] and typedefs[word] and typedefs[word].type
        or word
    end
    records[""] = nil
    r = records[word] or cl.error(("%s: %s"):format(what, text.unknown(
      "struct", name, text.keys(records))))
  end
  if not (r and r.type) then
    argument.refuse(what, "the text", "must have a struct with a name")
  end
  local question = setmetatable({tokens = tokens, records = records,
    typedefs = typedefs, count = 0, lines = {}, type = r.type,
    value = ("((%s *)0)->"):format(r.type)}, Question)
  local inner = {type = r.type}
  local size_at = question:number("sizeof(%s)", r.type)
  local align_at = question:number("__alignof__(%s)", r.type)
  inner.fields = question:record(r, "")
  local declared, kinds = hooks.type_question(source)
  declared = declared or source
  local fine, told = pcall(answers, question, declared, kinds, opts)
  if not fine and declared ~= source then
    declared = source
    fine, told = pcall(answers, question, source, kinds, opts)
  end
  if not fine then
    cl.error(("%s: the compiler tells no layout of %s; %s"):format(what,
      r.type, type(told) == "table" and told.message or told))
  end
  local s = record(inner, told, 0, told[size_at])
  if s.size == 0 then
    argument.refuse(what, r.type, "must have fields")
  end
  s.align, s.source = told[align_at], declared .. "\n"
  return s
end

return M
