-- simulate/init.lua - kernels on the simulator Oclgrind, which sees each of
-- their accesses: require "clshell.simulate"
-- check finds defects of a launch, sizes those of a rung over shapes, and
-- memcheck those of a script's launches; verdict prints them.
-- access tells what loads and stores ask of memory: trace counts their
-- requests, machine knows their cost, picture draws them; gpus is the list of
-- GPUs.
-- oclgrind finds the simulator; job is a launch with copies of its arguments,
-- and replay runs it in a child process. reports reads what the simulator
-- says, findings words it.
-- SPDX-License-Identifier: MIT

return require "clshell.base.lazy".room("clshell.simulate",
  {"access", "check", "findings", "gpus", "job", "machine", "memcheck",
    "oclgrind", "picture", "replay", "reports", "sizes", "trace", "verdict"})
