-- browser.lua - pages in a headless Chromium
-- SPDX-License-Identifier: MIT

local t = require "t"

local M = {}

local function chromium()
  for _, name in ipairs{"chromium", "chromium-browser", "google-chrome"} do
    if os.execute("command -v " .. name .. " >/dev/null 2>&1") then
      return name
    end
  end
  t.skip("no chromium to open the page in")
end

local function slurp(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

--- browser.browse(text [, options]) -> page, console
--- Opens a page in a browser without network and with a profile of its own;
--- returns what the page became and what the console said.
function M.browse(text, options)
  local browser = chromium()
  local base = t.tmp("page")
  local path, log = t.tmp("page.html"), t.tmp("log")
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  local pipe = assert(io.popen(("HOME=%s timeout -k 5 300 %s --headless "
    .. "--no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run "
    .. "--disable-background-networking --user-data-dir=%s "
    .. "--host-resolver-rules='MAP * ~NOTFOUND' --enable-logging=stderr "
    .. "%s --dump-dom file://%s 2>%s"):format(base, browser, base,
    options or "", path, log)))
  local dom = pipe:read("a")
  pipe:close()
  local console = {}
  for line in slurp(log):gmatch("[^\n]+") do
    if line:find("CONSOLE", 1, true) then
      console[#console + 1] = line
    end
  end
  os.execute("rm -rf " .. base)
  t.ok(dom ~= "", slurp(log))
  return dom, table.concat(console, "\n")
end

return M
