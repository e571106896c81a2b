-- explain/init.lua - why a result is as it is. lesson says the limit of a
-- result in a sentence and reads a ladder; reading finds the limit, ladder the
-- steps that paid, lines the source lines that tell two rungs apart, occupancy
-- and multiprocessor the work-items that share a compute unit;
-- claims tries the claims of claims_list, some by kernels of their own:
-- trials; course lists them as lessons, and asks the exercises.
-- SPDX-License-Identifier: MIT

return require "clshell.base.lazy".room("clshell.explain", {"claims",
  "claims_list", "course", "exercises", "ladder", "lesson", "lines",
  "multiprocessor", "occupancy", "reading", "trials"})
