-- diagnose/init.lua - a failed build in words: require "clshell.diagnose"
-- build_error words the error that module cl raises: buildlog reads the
-- compiler's log, user_source finds the place in the user's files and scripts,
-- excerpt shows a source line with a caret, for Lua errors as well (see
-- prompt/errors.lua).
-- SPDX-License-Identifier: MIT

return require "clshell.base.lazy".room("clshell.diagnose",
  {"build_error", "buildlog", "excerpt", "user_source"})
