-- ladder/choice.lua - the rung of a call that names no rung: the rows of
-- user_choices.lua and choices.lua that fit a device and a shape, the row
-- taken, the reasons against the other rows
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local choices = require "clshell.ladder.choices"
local cl = require "cl"
local rungs = require "clshell.ladder.rung"
local text = require "clshell.base.text"
local user_choices = require "clshell.ladder.user_choices"

local M = {}

local FIELDS = {"rung", "params", "class", "device", "type", "where",
  "guarded", "meanwhile", "note"}

-- Whether a value meets a condition.
local function holds(condition, value)
  if type(condition) ~= "table" then
    return value == condition or condition == true and value ~= nil
  end
  return value ~= nil and (condition.min == nil or value >= condition.min)
    and (condition.max == nil or value <= condition.max)
end

-- Whether all conditions of a table hold for the fields of `object`.
local function all_hold(conditions, object)
  for name, condition in pairs(conditions or {}) do
    if not holds(condition, object[name]) then
      return false
    end
  end
  return true
end

-- Whether a row is for a device and a shape.
local function fits(row, dev, s)
  return (row.device == nil or row.device == dev.name)
    and (row.type == nil or row.type == s.type)
    and (row.class == nil or all_hold(choices.classes[row.class], dev))
    and all_hold(row.where, s)
end

-- The reason why no call takes a row unless it names the rung; or nil.
local function unsafe(row, rung)
  if rung.input_roundoff then
    return "cuts its operands; name it to have it"
  elseif row.guarded and not rung.guarded then
    return "does not detect operands outside its range; name it to have it"
  end
end

-- The reasons against rungs, as text: each begins with "\n  " and `word`.
local function reasons(passed, word)
  local lines, told = {}, {}
  for _, other in ipairs(passed) do
    local line = ("\n  %s%s%s: %s"):format(word, other.rung,
      other.kept and ", which you kept" or "", other.reason)
    lines[#lines + 1] = not told[line] and line or nil
    told[line] = true
  end
  return table.concat(lines)
end

local choice_meta = {
  __tostring = function(c)
    local row = c.row
    local origin = c.kept and ("kept by you on %s for %s"):format(
      row.time:sub(1, 10), row.title) or ("row %d: %s%s"):format(c.number,
      row.device or row.class or "any device",
      row.type and ", " .. row.type or "")
    return ("%s %s"):format(c.rung, rungs.tostring(c.definition, c.params))
      :gsub(" +$", "") .. "\n  " .. origin
      .. (row.note and ": " .. row.note or "") .. reasons(c.passed, "not ")
  end,
}

-- The rows of a family until the user gives others: its rows in choices.lua,
-- or else a row for each rung, from the last, the fastest, to the first.
local function default_rows(family)
  local rows = choices[family.name]
  if not rows then
    rows = {}
    for i, rung in ipairs(family.list) do
      rows[#family.list + 1 - i] = {rung = rung.name, note = "rung " .. i}
    end
  end
  return rows
end

-- The rows that fit, as a list of {row, number}. The rows that the user keeps
-- come first, without a number; rows given to family.choices replace them.
local function offered(family, s, dev)
  local list = {}
  -- the shape with the measures of its family, such as work = m n k
  local sizes = setmetatable(family.spec.measures(s), {__index = s})
  if not family.rows then
    for i, row in ipairs(user_choices.near(family, s, dev)) do
      list[i] = {row = row}
    end
  end
  for number, row in ipairs(M.rows(family)) do
    list[#list + 1] = fits(row, dev, sizes) and {row = row, number = number}
      or nil
  end
  return list
end

-- The first row that fits and whose rung `try(rung, params)` takes: a table
-- {rung, definition, params, row, number, kept, passed}, and the first result
-- of `try`. Raises with all reasons where no row serves.
function M.pick(family, s, dev, try)
  local passed = {}
  for _, offer in ipairs(offered(family, s, dev)) do
    local row, own = offer.row, not offer.number
    local reason = own and user_choices.against(family, row, dev)
    if not reason then
      local rung, kernel = family.rung(row.rung), nil
      local params = rungs.parameters(rung, row.params or {}, family.name)
      reason = unsafe(row, rung)
      if not reason then
        kernel, reason = try(rung, params, row)
      end
      if kernel then
        return setmetatable({rung = row.rung, definition = rung,
          params = params, row = row, number = offer.number, kept = own,
          passed = passed}, choice_meta), kernel
      end
    end
    passed[#passed + 1] = {rung = row.rung, reason = reason, kept = own}
  end
  cl.error(("%s: no kernel takes these operands"):format(family.name),
    {hint = reasons(passed, ""):sub(4)})
end

-- The parameters of the first row of this rung that fits and whose parameters
-- `try(params)` takes; nil for no such row. The rows of choices.lua for any
-- device and shape are not asked: they are for devices without much room.
function M.params(family, rung, s, try)
  local dev = s.context.device
  for _, offer in ipairs(offered(family, s, dev)) do
    local row = offer.row
    local own = family.rows or not offer.number
    if row.rung == rung.name and (own or row.class or row.device or row.type
        or row.where) and (offer.number
        or not user_choices.against(family, row, dev)) then
      local params = rungs.parameters(rung, row.params or {}, family.name)
      if try(params) then
        return params
      end
    end
  end
end

-- Raises unless a row has a rung of the family's ladder with legal parameters.
local function check_rung(family, what, row)
  argument.check(what, "rung", row.rung, "string")
  rungs.configured(family.rung(row.rung), argument.check(what, "params",
    row.params or {}, "table"), what)
end

-- Raises unless each row has known fields, a rung of the family's ladder with
-- legal parameters, and a known class.
local function check(family, rows)
  local who = family.name .. ".choices"
  argument.check(who, "the list of rows", rows, "table")
  for i, row in ipairs(rows) do
    local what = ("%s: row %d"):format(who, i)
    argument.check(who, "row " .. i, row, "table")
    cl.options(row, FIELDS, what)
    check_rung(family, what, row)
    if row.meanwhile ~= nil then
      argument.check(what, "meanwhile", row.meanwhile, "table")
      cl.options(row.meanwhile, {"rung", "params"}, what .. ": meanwhile")
      check_rung(family, what .. ": meanwhile", row.meanwhile)
    end
    local where = argument.check(what, "where", row.where or {}, "table")
    for name, condition in pairs(where) do
      if type(condition) == "table" then
        cl.options(condition, {"min", "max"}, ("%s: where.%s"):format(what,
          name))
      end
    end
    if row.class ~= nil and not choices.classes[row.class] then
      cl.error(("%s: class must be one of %s; got '%s'"):format(what,
        text.values(text.keys(choices.classes)), tostring(row.class)))
    end
  end
end

-- Returns the rows in force of a family; `rows`, a list or "default", replaces
-- them first.
function M.rows(family, rows)
  if rows ~= nil then
    local own = rows ~= "default" and rows ~= choices[family.name]
    check(family, own and rows or default_rows(family))
    family.rows = own and rows or nil
  end
  return family.rows or default_rows(family)
end

return M
