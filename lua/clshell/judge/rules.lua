-- judge/rules.lua - what the source of a submission may not hold. The judge
-- reads it here; and the compiler refuses the words after preprocessing, as
-- #pragma GCC poison makes it: a word that ## puts together as well
-- SPDX-License-Identifier: MIT

local text = require "clshell.base.text"
local tokens_of = require "clshell.cuda.cuda_tokens".tokens

local M = {}

--- rules.WORDS
--- Words that no task allows unless its field `allow` names them: machine
--- code, clocks, and attributes that reach around the compiler.
M.WORDS = {"asm", "__asm", "__asm__", "extern", "alias", "weakref", "ifunc",
  "constructor", "__constructor__", "destructor", "__destructor__",
  "__alias__", "section", "__section__", "__builtin_readcyclecounter",
  "__builtin_readsteadycounter", "__builtin_nvvm_read_ptx_sreg_clock",
  "__builtin_nvvm_read_ptx_sreg_clock64", "__builtin_amdgcn_s_memtime",
  "__builtin_amdgcn_s_memrealtime", "clock_read_device",
  "clock_read_work_group", "clock_read_sub_group"}

local ATTRIBUTES = text.set("reqd_work_group_size work_group_size_hint "
  .. "vec_type_hint aligned packed opencl_unroll_hint always_inline noinline "
  .. "unused pure const may_alias endian nosvm intel_reqd_sub_group_size")
local PRAGMAS = {"^OPENCL%s+EXTENSION%s", "^OPENCL%s+FP_CONTRACT%s",
  "^unroll"}
local CONSTANT = text.set "constant __constant"
local TYPES = text.set("void char short int long float double half uchar "
  .. "ushort uint ulong size_t unsigned signed bool")
local BEFORE_CALL = text.set "return else do case sizeof goto"
local NO_CALL = text.set "if for while switch return sizeof __attribute__"
local DEEPEST = 16 -- macros inside macros

-- The words that a forbidden word stands for: "half" also for its vectors, and
-- its loads, stores and conversions.
local function family(word, list)
  list[#list + 1] = word
  if word ~= "half" then
    return
  end
  for _, n in ipairs{"", "2", "3", "4", "8", "16"} do
    for _, name in ipairs{"half", "vload_half", "vstore_half", "vloada_half",
        "vstorea_half", "convert_half", "as_half"} do
      list[#list + 1] = (name ~= "half" or n ~= "") and name .. n or nil
      for _, round in ipairs(name:find "store" and {"_rte", "_rtz", "_rtp",
          "_rtn"} or {}) do
        list[#list + 1] = name .. n .. round
      end
    end
  end
end

--- rules.words(task) -> list of strings
--- The words that a task forbids.
function M.words(task)
  local list, allowed = {}, text.set(table.concat(task.allow or {}, " "))
  for _, words in ipairs{M.WORDS, task.forbid or {}} do
    for _, word in ipairs(words) do
      if not allowed[word] then
        family(word, list)
      end
    end
  end
  return list
end

--- rules.poisoned(source, words, name) -> string
--- The source behind a line that makes the compiler refuse the words. A
--- compiler that does not know the line leaves them to rules.faults.
function M.poisoned(source, words, name)
  return ("#pragma GCC poison %s\n#line 1 %q\n%s\n"):format(
    table.concat(words, " "), name, source)
end

-- The macros of directives without parameters: their tokens by name.
local function macros_of(tokens)
  local macros = {}
  for i = 1, #tokens do
    local one = tokens[i]
    local name, body = one.text:match "^#%s*define%s+([%a_][%w_]*)(.*)$"
    if one.kind == "directive" and name and not body:find "^%(" then
      macros[name] = tokens_of(body)
    end
  end
  return macros
end

-- The tokens with macros replaced, which keep the place of the macro.
local function expanded(tokens, macros)
  local list = {}
  local function add(one, at, depth)
    local body = one.kind == "name" and macros[one.text]
    if not body or depth > DEEPEST then
      list[#list + 1] = {kind = one.kind, text = one.text, first = at}
      return
    end
    for i = 1, #body do
      add(body[i], at, depth + 1)
    end
  end
  for i = 1, #tokens do
    if tokens[i].kind ~= "directive" then
      add(tokens[i], tokens[i].first, 0)
    end
  end
  return list
end

-- The faults of a declaration at file scope: its tokens outside of brackets,
-- whether the body of a function ends it.
local function declaration(part, body, defined, found)
  local has, name, names, last = {}, nil, 0, nil
  for _, one in ipairs(part) do
    has[one.text] = true
    if one.text == "(" and not name and last ~= "__attribute__" then
      name = last
    elseif one.text == "{" then
      names = 0 -- a body of a struct: names behind it
    end
    last = one.kind == "name" and one.text or nil
    names = names + (last and last ~= "__attribute__" and 1 or 0)
  end
  local constant, other = has.constant or has.__constant,
    has.struct or has.union or has.enum
  if name and not has["="] then
    defined[name] = defined[name] or body
    found[#found + 1] = not body and {at = part[1].first, declares = name}
      or nil
  elseif not constant and not body and not has.typedef and part[1]
      and not (other and names <= (has["{"] and 0 or 2)) then
    found[#found + 1] = {at = part[1].first, rule = "a variable of the "
      .. "program, which would keep its value between launches"}
  end
end

-- The faults of attributes.
local function attributes(tokens, found)
  for i, one in ipairs(tokens) do
    local depth, j = 1, i + 2
    local list = one.text == "__attribute__" or one.text == "__attribute"
    while list and tokens[j] and depth > 0 do
      local word = tokens[j].text
      local name = depth == 2 and tokens[j].kind == "name" and not ATTRIBUTES[
        word:gsub("^__(.-)__$", "%1")] and word
      depth = depth + (word == "(" and 1 or word == ")" and -1 or 0)
      j = j + 1
      found[#found + 1] = name and {at = one.first, rule = "the attribute "
        .. name} or nil
    end
    local next_one = tokens[i + 1]
    if one.text == "[" and next_one and next_one.text == "[" then
      found[#found + 1] = {at = one.first, rule = "an attribute in brackets"}
    end
  end
end

-- The faults of declarations, in tokens with macros replaced.
local function declarations(tokens, found)
  local part, depth, braces, defined, list = {}, 0, 0, {}, {}
  for i, one in ipairs(tokens) do
    local word, last = one.text, tokens[i - 1]
    if depth == 0 and word ~= ";" and word ~= "}" then
      part[#part + 1] = one
    end
    if word:find "^[%(%[{]$" then
      depth = depth + 1
      braces = braces + (word == "{" and 1 or 0)
    elseif word:find "^[%)%]}]$" then
      depth = math.max(0, depth - 1)
      braces = math.max(0, braces - (word == "}" and 1 or 0))
    end
    local nested = braces > 0 and word == "(" and last.kind == "name"
      and not NO_CALL[last.text] and tokens[i - 2] or {}
    if TYPES[nested.text] or nested.text == "*" and TYPES[(tokens[i - 3]
        or nested).text] or nested.kind == "name"
        and not BEFORE_CALL[nested.text] then
      list[#list + 1] = {at = last.first, declares = last.text}
    elseif braces > 0 and word == "static"
        and not CONSTANT[(tokens[i + 1] or one).text] then
      list[#list + 1] = {at = one.first, rule = "a static variable, which "
        .. "would keep its value between launches"}
    end
    if depth == 0 and (word == ";" or word == "}") and part[1] then
      local call = false
      for _, other in ipairs(part) do
        call = call or other.text == "("
      end
      if word == ";" or call then -- a body of a struct goes on
        declaration(part, word == "}", defined, list)
        part = {}
      end
    end
  end
  for _, one in ipairs(list) do
    if one.rule or not defined[one.declares] then
      one.rule = one.rule or ("the function '%s', which it declares and does "
        .. "not define"):format(one.declares)
      found[#found + 1] = one
    end
  end
end

-- Whether a pragma changes no more than precision, extensions and loops.
local function is_harmless(pragma)
  for _, known in ipairs(PRAGMAS) do
    if pragma:find(known) then
      return true
    end
  end
end

-- The fault of a directive of the preprocessor.
local function directive(one, allowed)
  local name, rest = one.text:match "^#%s*(%a+)%s*(.*)$"
  if (name == "include" or name == "include_next" or name == "import"
      or name == "embed") and not allowed.include then
    return "#" .. name
  elseif name == "pragma" and not allowed.pragma and not is_harmless(rest) then
    return "#pragma " .. rest
  end
end

--- rules.faults(source, task) -> list of {line, text}
--- What the source holds that the task forbids, in the order of its lines.
function M.faults(source, task)
  source = source:gsub("\\\r?\n", "") -- as the compiler joins lines
  local tokens, found, list = tokens_of(source), {}, {}
  local macros, allowed = macros_of(tokens), text.set(table.concat(
    task.allow or {}, " "))
  local bad = text.set(table.concat(M.words(task), " "))
  for i = 1, #tokens do
    local one = tokens[i]
    local rule = bad[one.text] and "the word '" .. one.text .. "'"
    if one.kind == "directive" then
      rule = directive(one, allowed)
      for word in one.text:gmatch "[%a_][%w_]*" do
        rule = rule or bad[word] and "the word '" .. word .. "'"
      end
    end
    found[#found + 1] = rule and {at = one.first, rule = rule} or nil
  end
  for at, pragma in source:gmatch "()%f[%w_]_Pragma%f[^%w_]([^\n]*)" do
    found[#found + 1] = not allowed.pragma and not is_harmless(pragma:match
      '^%s*%(%s*"([^"]*)"%s*%)' or "") and {at = at, rule = "_Pragma"} or nil
  end
  tokens = expanded(tokens, macros)
  attributes(tokens, found)
  declarations(tokens, found)
  table.sort(found, function(a, b)
    return a.at < b.at
  end)
  for i, one in ipairs(found) do
    list[i] = {line = (text.position(source, one.at)), text = one.rule}
  end
  return list
end

return M
