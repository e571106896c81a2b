-- base/init.lua - the tools of every room: require "clshell.base"
-- search finds modules, lazy loads them at their first use; options declares
-- the options of each function, argument and integer check arguments, range
-- reads "8..64:8", result makes Buffers of results, recording knows whether
-- launches are recorded; interrupt knows Ctrl-C.
-- text, quantity and style make words, numbers and colours for messages; json
-- and file write for programs, folder has the user's folders. script has the
-- command lines of scripts, progress their progress.
-- SPDX-License-Identifier: MIT

return require "clshell.base.lazy".room("clshell.base", {"argument", "file",
  "folder", "integer", "interrupt", "json", "lazy", "options", "progress",
  "quantity", "range", "recording", "result", "script", "search", "style",
  "text"})
