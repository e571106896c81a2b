-- shell/prompt/objects.lua - events, devices, programs, kernels, launches,
-- functions and files at the prompt, described on a few lines
-- SPDX-License-Identifier: MIT

local printable = require "clshell.shell.prompt.printable"
local quantity = require "clshell.base.quantity"
local style = require "clshell.base.style"
local system = require "clshell.system"
local text = require "clshell.base.text"

local M = {}

local clean = printable.clean

-- The values of a row as printable words.
local function words_of(row)
  local words = type(row[2]) == "table" and row[2] or {row[2]}
  for i, word in ipairs(words) do
    words[i] = clean(tostring(word))
  end
  return words
end

-- An event on one line: its title, time and rates.
local function brief(title, rows, o)
  local words = {title}
  for _, row in ipairs(rows) do
    local more = row[1] ~= "before" and words_of(row) or {}
    table.move(more, 1, #more, #words + 1, words)
  end
  return printable.join(words, o.width, "  ")
end

-- A title, as text or lines, then rows of a name and its values in columns,
-- without nil values.
local function sheet(title, rows, o)
  local lines, widest = type(title) == "table" and title
    or {printable.cut(clean(title), o.width)}, 0
  lines[1] = style.paint(lines[1], "bold", o.color)
  for _, row in ipairs(rows) do
    widest = row[2] ~= nil and math.max(widest, #row[1]) or widest
  end
  widest = math.min(widest, o.width - 14)
  for _, row in ipairs(rows) do
    for i, line in ipairs(printable.join(words_of(row), o.width - widest - 4,
        "")) do
      local name = text.fill(i == 1 and row[1]:sub(1, widest) or "", widest)
      lines[#lines + 1] = "  " .. style.paint(name, "dim", o.color) .. "  "
        .. line
    end
  end
  return lines
end

local function bytes(n)
  return n and quantity.format(n, "B")
end

local function seconds(ns)
  return quantity.format(ns / 1e9, "s")
end

-- The rates of a command that took so many ns; nil where its work is unknown.
local function rates(ev, ns)
  local words = {}
  for _, rate in ipairs{{"flop", " GFLOPS"}, {"bytes", " GB/s"}} do
    local work = ns > 0 and ev[rate[1]]
    words[#words + 1] = work and quantity.number(work / ns) .. rate[2] or nil
  end
  return words[1] and words
end

-- The rows about the time stamps of a command that has ended.
local function times(ev, s)
  if s.stop < s.start then
    return {{"time", "the driver's timer runs backwards"}}
  end
  local to = style.glyphs() and " → " or " -> "
  return {
    {"time", seconds(s.stop - s.start)},
    {"rate", rates(ev, s.stop - s.start)},
    {"before", {"queued" .. to .. "submit " .. seconds(s.submit - s.queued),
      "submit" .. to .. "start " .. seconds(s.start - s.submit)}},
  }
end

--- objects.Event(ev, o) -> lines
--- An event: command and status; times, and rates where the launch knows its
--- work, once the command has ended; on one line if o.brief. No wait.
function M.Event(ev, o)
  local status, rows = ev.status, {}
  if status == "failed" then
    local _, err = pcall(ev.wait, ev)
    rows = {{"error", (tostring(err):gsub("\n.*", ""))}}
  elseif ev.command == "user" then
    rows = status ~= "complete" and {{"commands",
      "those that wait for it start at " .. o.name .. ":complete()"}} or rows
  elseif status ~= "complete" then
    rows = {{"times", o.name .. ":wait() waits for them"}}
  else
    ev:wait() -- does not take long now
    local s = ev:info()
    rows = s.stop and times(ev, s)
      or {{"times", "none: its queue is not profiled"}}
  end
  return (o.brief and brief or sheet)(("Event %s  %s"):format(ev.command,
    status), rows, o)
end

M["Event span"] = function(span, o)
  local events = rawget(span, "events")
  local done, rows = true, {}
  for i, ev in ipairs(events) do
    local ended = ev.status == "complete"
    done = done and ended
    if ended then
      ev:wait()
    end
    local s = ev:info()
    rows[i] = {("%d %s"):format(i, s.command), s.stop and s.stop >= s.start
      and seconds(s.stop - s.start) or s.status}
  end
  local title = ("Event of %d commands  %s"):format(#events, done
    and "complete" or "not complete")
  local first, last = events[1]:info(), events[#events]:info()
  if done and first.start and last.stop then
    local ns = span.ms * 1e6
    table.insert(rows, 1, {"time", {seconds(ns), "from first START to last "
      .. "STOP " .. seconds(last.stop - first.start)}})
    table.insert(rows, 2, {"rate", rates(span, ns)})
  end
  return (o.brief and brief or sheet)(title, o.brief
    and table.move(rows, 1, 2, 1, {}) or rows, o)
end

local function present(dev, extension)
  return dev:has(extension) and "yes" or "no"
end

function M.Device(dev, o)
  local sizes = dev.max_work_item_sizes
  return sheet(("Device %d: %s"):format(dev.index, dev.name), {
    {"type", {dev.type, dev.vendor}},
    {"platform", {tostring(dev.platform), dev.version}},
    {"driver", dev.driver_version},
    {"compute units", {dev.compute_units, dev.max_clock_frequency
      and dev.max_clock_frequency > 0
      and ("%d MHz at most"):format(dev.max_clock_frequency) or nil}},
    {"memory", {bytes(dev.global_mem_size), "in one buffer "
      .. bytes(dev.max_mem_alloc_size)}},
    {"local memory", bytes(dev.local_mem_size)},
    {"constant", bytes(dev.max_constant_buffer_size)},
    {"images", dev.image_support and {"2-D "
      .. text.shape{dev.image2d_max_width, dev.image2d_max_height}, "3-D "
      .. text.shape{dev.image3d_max_width, dev.image3d_max_height,
        dev.image3d_max_depth} .. " at most"} or "no"},
    {"work-group", {("%d work-items"):format(dev.max_work_group_size),
      sizes and text.shape(sizes) .. " at most" or nil}},
    {"double, half", {present(dev, "cl_khr_fp64"),
      present(dev, "cl_khr_fp16")}},
    {"warp", dev.nv_warp_size or dev.amd_wavefront_width},
    {"more", "dev:info(), dev.extensions"},
  }, o)
end

function M.Context(c, o)
  local info = c:info()
  return sheet("Context on " .. info.device, {
    {"in use", {bytes(info.used_bytes), "of " .. bytes(info.max_bytes)}},
    {"held for results", info.held_bytes > 0 and bytes(info.held_bytes)
      or nil},
    {"lost", info.lost},
  }, o)
end

function M.Queue(q, o)
  local info = q:info()
  return sheet("Queue on " .. info.device, {
    {"order", info.out_of_order and "out of order" or "in order"},
    {"profiled", info.profiling and "yes" or "no: its events have no times"},
  }, o)
end

-- "kernel mm(A: global const float*, n: int)", wrapped.
local function signature_lines(k, width)
  local head, parts = clean(("kernel %s("):format(k.name)), {}
  for i, a in ipairs(k.args) do
    local known = a.type ~= "?"
    local space = known and a.space ~= "private" and a.space .. " " or ""
    local const = a.const and known and a.space == "global"
      and not a.type:find "const" and "const " or ""
    parts[i] = clean(("%s: %s%s%s%s"):format(a.name ~= "" and a.name
      or "argument " .. i, space, const, a.type, i < #k.args and "," or ""))
  end
  local last = math.max(1, #parts)
  parts[last] = (parts[last] or "") .. ")"
  local whole = head .. table.concat(parts, " ")
  if printable.width(whole) <= width then
    return {whole}
  end
  local lines = {printable.cut(head, width)}
  for i, line in ipairs(printable.join(parts, width - 4, "")) do
    lines[i + 1] = "    " .. line
  end
  return lines
end

function M.Kernel(k, o)
  local private = k.private_mem_size
  return sheet(signature_lines(k, o.width), {
    {"work-group", {("%d work-items at most"):format(k.work_group_size),
      ("multiple of %d preferred"):format(k.preferred_multiple)}},
    {"required", k.required_work_group_size
      and text.shape(k.required_work_group_size)},
    {"local memory", k.local_mem_size > 0 and bytes(k.local_mem_size) or nil},
    {"private", private > 0 and bytes(private) .. " a work-item" or nil},
    {"run it", ("k:range(global, local)(%s)"):format(#k.args > 0
      and "arguments ..." or "")},
  }, o)
end

function M.Launch(l, o)
  local global, size = l.global, l.localsize
  local groups = {}
  for d = 1, size and #size or 0 do
    groups[d] = (global[d] + size[d] - 1) // size[d]
  end
  local shifted = false
  for _, x in ipairs(l.offset) do
    shifted = shifted or x ~= 0
  end
  return sheet(signature_lines(l.kernel, o.width), {
    {"global", text.shape(global)},
    {"local", size and {text.shape(size), ("%s groups"):format(
      text.shape(groups))} or "the driver's choice"},
    {"offset", shifted and text.shape(l.offset) or nil},
  }, o)
end

local NOTES = 6 -- notes on the host's calls in a CUDA text

-- Adds the launches of a CUDA text as Lua, and Lua in place of its host's
-- calls.
local function add_cuda(lines, cuda, o)
  local function add(...)
    local more = text.lines(text.fold("  " .. clean(string.format(...)),
      o.width))
    table.move(more, 1, #more, #lines + 1, lines)
  end
  for _, launch in ipairs(cuda.launches) do
    add("launch: %s.%s", o.name, launch.text)
  end
  for i = 1, math.min(NOTES, #cuda.notes) do
    add("line %d, %s", cuda.notes[i].line, cuda.notes[i].text)
  end
  if #cuda.notes > NOTES then
    add("%d more: %s.cuda.notes", #cuda.notes - NOTES, o.name)
  end
  add("the OpenCL C: %s.cuda.opencl", o.name)
end

function M.Program(prog, o)
  local info = prog:info()
  local lines = sheet("Program " .. info.name, {
    {"device", info.device},
    {"options", info.options ~= "" and info.options or nil},
  }, o)
  for _, name in ipairs(info.kernels) do
    for _, line in ipairs(signature_lines(prog:kernel(name), o.width - 2)) do
      lines[#lines + 1] = "  " .. line
    end
  end
  if prog.cuda then
    add_cuda(lines, prog.cuda, o)
  end
  local log = (info.log or ""):gsub("%s+$", "")
  if log ~= "" then
    lines[#lines + 1] = printable.cut(("  the compiler said %d lines: "
      .. "prog.log"):format(#text.lines(log)), o.width)
  end
  return lines
end

-- The signature and the text of a documented function, or nil.
local function documented(f)
  local name = require "clshell.shell.prompt.resolve".of(f)
  local entry = name and (require "clshell.shell.help.index".entry(name)
    or require "clshell.shell.help.reference".lua[name])
  if entry then
    return entry.signature:gsub("^family%.", name:match "^%w+%." or ""),
      entry.text
  end
end

M["function"] = function(f, o)
  local head, about = documented(f)
  local info = debug.getinfo(f, "Su")
  if not head then
    local parameters = require "clshell.shell.prompt.resolve".parameters(f)
    head = ("function (%s)"):format(table.concat(parameters, ", "))
    about = info.what == "C" and "C code without a help page"
      or "defined at " .. printable.scalar(f, math.huge).text:match "%((.*)%)$"
  end
  local lines = text.wrap(clean(head), o.width)
  lines[1] = style.paint(lines[1], "bold", o.color)
  lines[#lines + 1] = "  " .. require "clshell.shell.help.page_layout".summary(
    clean(about), o.width - 2)
  return lines
end

-- A file of Lua's io library: path, direction, and place.
function M.userdata(file, o)
  if io.type(file) == "closed file" then
    return {"file  closed"}
  end
  local path, direction = system.file(file)
  local at = file:seek()
  return printable.join({"file " .. clean(path), "open for " .. direction,
    at and ("at byte %d"):format(at)}, o.width, "  ")
end

return M
