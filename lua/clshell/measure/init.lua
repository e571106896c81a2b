-- measure/init.lua - times and rates that can be trusted. workload makes the
-- operands of a launch or a rung; timer is its subject on a device, calibrate
-- the worth of its timers, cachefile their numbers between sessions; protocol
-- takes samples, stats sums them up, record and record_fields hold and read
-- the result: bench does all of this, compare two in turns. peaks (by
-- peak_kernels) and roofline tell a device's reach, power the energy of a
-- launch; other_programs races rungs against libraries.
-- SPDX-License-Identifier: MIT

return require "clshell.base.lazy".room("clshell.measure", {"bench",
  "cachefile", "calibrate", "compare", "other_programs", "peak_kernels",
  "peaks", "power", "protocol", "record", "record_fields", "roofline", "stats",
  "timer", "workload"})
