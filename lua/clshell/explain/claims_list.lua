-- explain/claims_list.lua - the claims of five course texts on GPU kernels (A
-- to E) as data: the words, the gain that they claim, and the trial by its
-- name in trials.lua
-- SPDX-License-Identifier: MIT

-- The simple kernel as texts print it, by rows; in a local size of 8x8.
local BY_ROWS = {map = "row"}
local BY_ROWS_8X8 = {map = "row", lx = 8, ly = 8}

--- Each: id, says, gain (the factor claimed; true: any; 1: no gain; nil: the
--- trial decides), trial (its name and its arguments), needs: the device or
--- tool without which the trial shows nothing.
return {
  titles = {A = "a lecture on tiled products", B = "course notes on GPUs",
    C = "homework on an Apple M1", D = "a chapter on optimising OpenCL",
    E = "an exercise on OpenCL kernels"},
  {id = "A1", says = "a naive product reaches about 1/20 of the arithmetic, "
    .. "as memory limits it", trial = {"naive_share"}},
  {id = "A2", gain = true, says = "tiles of 8x8 in local memory are faster",
    trial = {"tiles", BY_ROWS_8X8, 8}},
  {id = "A3", needs = "GPU", gain = 1, says = "in work-groups of one warp the "
    .. "compiler drops barriers: they cost nothing (the factor: without them)",
    trial = {"barriers"}},
  {id = "A4", gain = 1, says = "sizes beside the tile: guarded loads or "
    .. "padded matrices, both right (the factor: padded against guarded)",
    trial = {"edges"}},
  {id = "A5", gain = true, says = "reading in larger pieces is faster",
    trial = {"rungs", "tiled", {tile = 16}, "tiled_float4", {tile = 16}}},
  {id = "A6", needs = "GPU", gain = 2,
    says = "local memory has banks: reads 32 cells apart meet in one and "
    .. "wait", trial = {"local_reads", 32, 1}},
  {id = "A7", needs = "GPU", gain = 1,
    says = "several reads of one local cell count once (the factor: a "
    .. "broadcast against neighbouring cells)",
    trial = {"local_reads", 1, 0}},
  {id = "A8", needs = "simulator",
    says = "a barrier left out of a sum over a work-group is a race",
    trial = {"race"}},
  {id = "A9", says = "the first sum over a work-group, in neighbouring pairs, "
    .. "is right", trial = {"pairs"}},
  {id = "A10", needs = "simulator", says = "a guard around the barrier keeps "
    .. "work-items from it: all must reach it",
    trial = {"edge", 1, "divergent code"}},
  {id = "A11", needs = "simulator", says = "without a guard the last group "
    .. "stores beyond the edge", trial = {"edge", 0, "write outside"}},
  {id = "A12", needs = "simulator", says = "tiles of side T cut the fetches "
    .. "of an element of C from 2N to 2N/T", trial = {"fewer", "global",
      "load", 8, "naive", {map = "col"}, "tiled", {tile = 8}}},
  {id = "A13", needs = "simulator", says = "a group of 8x8 is one warp only "
    .. "where warps have 64 lanes; of 32 it is two, across rows of the tile",
    trial = {"warps_of_tile"}},
  {id = "B1", says = "time the device by events: the host's clock counts the "
    .. "launch", trial = {"events_not_host"}},
  {id = "B2", says = "double is 2 to 3 times slower on large GPUs and CPUs, "
    .. "up to 64 times on small ones",
    trial = {"double", false, 1.5, 64, 3.5}},
  {id = "B3", needs = "GPU", says = "local memory limits how many work-groups "
    .. "share a unit (occupancy)", trial = {"occupancy"}},
  {id = "B4", gain = true,
    says = "neighbouring work-items should touch neighbouring cells",
    trial = {"rungs", "naive", {map = "row"}, "naive", {map = "col"}}},
  {id = "B5", needs = "GPU", gain = true,
    says = "one more column in the tile mends bank conflicts",
    trial = {"mended", "tiled_padded", 1}},
  {id = "B6", needs = "GPU", gain = true,
    says = "permuting the elements in the tile's rows mends them as well",
    trial = {"mended", "tiled_swizzled"}},
  {id = "B7", gain = true, says = "several outputs per work-item pay",
    trial = {"blocks", "tiled", {tile = 16}}},
  {id = "B8", gain = true, says = "the best tile is not square",
    trial = {"not_square"}},
  {id = "B9", gain = true, says = "unrolling the inner loop pays",
    trial = {"unrolling"}},
  {id = "B10", gain = true, says = "4-wide loads pay (a transpose)",
    trial = {"transpose", "tiled_padded", "float4"}},
  {id = "B11", says = "a product on the CPU is the baseline and the check",
    trial = {"host_baseline"}},
  {id = "B12", says = "transfers can cost more than the computation",
    trial = {"transfers"}},
  {id = "B13", needs = "simulator",
    says = "a branch that parts the lanes of a warp leaves half of them "
    .. "idle; one between warps none", trial = {"divergence"}},
  {id = "B14", gain = true, says = "work-items in flight hide latency: 16 "
    .. "times as many do as many loads in less time", trial = {"latency"}},
  {id = "B15", gain = true, says = "a work-group for each compute unit, not "
    .. "one for all", trial = {"units"}},
  {id = "B16", needs = "simulator",
    says = "work-groups of no multiple of the warp leave lanes idle",
    trial = {"odd_groups"}},
  {id = "B17", needs = "simulator",
    says = "wider loads move as many bytes by fewer requests",
    trial = {"width"}},
  {id = "B18", needs = "simulator",
    says = "the order of the lanes within a segment is free",
    trial = {"order"}},
  {id = "B19", needs = "GPU", gain = true,
    says = "values beyond the registers spill to memory and cost",
    trial = {"spills"}},
  {id = "B20", needs = "GPU", gain = true,
    says = "a kernel should read the device's memory, not the host's",
    trial = {"host_memory"}},
  {id = "B21", needs = "simulator", says = "a pad of 1 frees the columns of a "
    .. "tile from bank conflicts, a pad of 2 leaves some", trial = {"pads"}},
  {id = "B22", needs = "simulator", says = "a block of 2x2 outputs reads "
    .. "local memory half as often: for two outputs 2 reads, not 4",
    trial = {"fewer", "local", "load", 2, "tiled", {tile = 8}, "register",
      {bm = 16, bn = 16, rm = 2, rn = 2}}},
  {id = "B23", needs = "simulator", says = "a global size that the local size "
    .. "does not divide must be rounded up, with a test in the kernel",
    trial = {"non_uniform"}},
  {id = "C1", says = "double costs 1.3 to 5.2 times as much in a simple "
    .. "kernel", trial = {"double", "naive", 1.15, 5.5}},
  {id = "C2", gain = 36.345 / 23.590, says = "tiles of 8x8: x1.54 over the "
    .. "simple kernel", trial = {"tiles", BY_ROWS, 8}},
  {id = "C3", gain = 36.345 / 13.234, says = "tiles of 16x16: x2.75 over the "
    .. "simple kernel", trial = {"tiles", BY_ROWS, 16}},
  {id = "C4", says = "tiles of 32x32 are beyond the device",
    trial = {"tile_32"}},
  {id = "C5", says = "83 TFLOPS on a small GPU: a clock stopped too early, "
    .. "which the roofline notices (planted here)", trial = {"planted"}},
  {id = "D1", gain = 2 / 0.95, says = "a private sum, not global memory: "
    .. "x2.1", trial = {"rungs", "naive_global_by_rows", {}, "naive",
      BY_ROWS}},
  {id = "D2", gain = 1, says = "B transposed: no gain",
    trial = {"transposed_b"}},
  {id = "D3", gain = 0.95 / 0.25, says = "a local size of 8x8 in place of the "
    .. "driver's: x3.8", trial = {"local_size"}},
  {id = "D4", gain = 0.25 / 0.06, says = "local tiles of 8x8: x4.2 over "
    .. "groups of 8x8 without", trial = {"tiles", BY_ROWS_8X8, 8}},
  {id = "D5", needs = "GPU", gain = true,
    says = "operands in constant memory: a little more",
    trial = {"constant"}},
  {id = "D6", gain = 1, says = "tile rows padded by one: no visible gain",
    trial = {"rungs", "tiled_padded_by_rows", {tile = 8, pad = 0},
      "tiled_padded_by_rows", {tile = 8, pad = 1}}},
  {id = "D7", needs = "simulator", says = "of 4 accesses of global memory in "
    .. "each step of the sum a private sum leaves 2", trial = {"fewer",
      "global", nil, 2, "naive_global", {}, "naive", {map = "col"}}},
  {id = "E1", gain = 10, says = "a transpose through local memory: x10 over "
    .. "the direct one", trial = {"transpose", "naive_read", "tiled_padded"}},
  {id = "E2", gain = 1.1, says = "DIA SpMV with aligned rows: +10 %",
    trial = {"spmv", "naive", "pitch"}},
  {id = "E3", gain = 1.5, says = "offsets copied to local memory: +50 %",
    trial = {"spmv", "pitch", "local_offsets"}},
  {id = "E4", gain = 1.15, says = "vectors of 4: +15 % more",
    trial = {"spmv", "local_offsets", "float4"}},
  {id = "E5", says = "the text's last versions are right as printed (their "
    .. "mistakes, made again)", trial = {"printed"}},
  {id = "E6", needs = "simulator", says = "in vectors of 4, rows that are no "
    .. "multiple of 4 need padding: the last work-item stores beyond them",
    trial = {"rows_of_4"}},
}
