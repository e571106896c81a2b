-- shell/examples/init.lua - the examples that help shows and the tests run:
-- the files of this folder. In a file each block is headed by "--- name", the
-- documented name of its function; `-->` heads a line that the block prints.
-- SPDX-License-Identifier: MIT

return {"device", "memory", "image", "array", "matrix", "sparse", "launch",
  "event", "family", "bench", "tune", "stats", "chart", "script", "host",
  "shell", "split", "store", "mpi", "ranks"}
