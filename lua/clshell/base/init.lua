-- base/init.lua - what every room builds on: require "clshell.base"
-- lazy loads modules at their first use; options declares the options of each
-- function, integer checks an argument. text, quantity and style make words,
-- numbers and colours for messages; json and file write for programs. script
-- has the command lines of scripts, progress their progress; device_limits the
-- limits of a device.
-- SPDX-License-Identifier: MIT

return require "clshell.base.lazy".room("clshell.base", {"device_limits",
  "file", "integer", "json", "lazy", "options", "progress", "quantity",
  "script", "style", "text"})
