-- ladder/choices.lua - the kernels of calls that name no kernel: rung and
-- parameters by device class, element type and shape
-- SPDX-License-Identifier: MIT
--
-- classes[name] lists conditions on the properties of a device; families
-- that come with clshell have rows, and the first row that fits and whose rung
-- accepts the operands is taken. A row's fields:
--
--   rung     the rung's name
--   params   its parameters; parameters left out have their defaults
--   class    a device class; nil: every device
--   device   the name of one device: for rows that were tuned there
--   type     the element type; nil: every type
--   where    conditions on the shape (for gemm m, n, k, batch, and work =
--            m n k; for spmv format, rows, cols, ndiags, nnz, row = nnz / rows
--            and bytes of the values; for transpose rows, cols, bytes of A;
--            for reduce, scan and sort n, bytes of x; for sort esize, index;
--            for gemv, stencil and conv2d rows, cols, bytes of A; for conv2d
--            frows, fcols, rest = lda modulo 4)
--   guarded  true: only where the rung detects operands that it does not
--            cover and hands them to another rung
--   note     why, for people
--
-- A condition is a value that the field must equal, true (the field is there),
-- or a table {min =, max =} with one limit or both. Rungs that cut their
-- operands, such as nv_tf32, are never taken unasked. `gemm.choices(rows)`
-- replaces the rows.

local TINY = 16^3  -- multiply-adds that are not worth packing
local SMALL = 64^3 -- of a single product: too few for tiles on a GPU
-- batches of small products, which are worth a kernel for their shape
local SEVERAL = {batch = {min = 64}, m = {max = 64}, n = {max = 64},
  k = {max = 64}}
local WIDE = 1536  -- rows and columns of C from which packing A once pays
local LONG = 16    -- elements of a row that are worth several work-items
local NARROW = 511 -- columns that leave work-items of `gemv.vector` idle
local CACHED = 2^19 -- bytes that are better kept in the cache of a core

return {
  classes = {
    cpu = {type = "cpu"},
    cpu_32 = {type = "cpu", native_vector_width_float = {max = 8}},
    cpu_16 = {type = "cpu", native_vector_width_float = {max = 4}},
    nvidia = {type = "gpu", nv_compute_capability_major = true},
  },

  gemm = {
    {class = "cpu_16", rung = "small_simd", where = SEVERAL,
      params = {vector = 16, mr = 6}, note = "a batch, vectors of 16 bytes"},
    {class = "cpu_32", rung = "small_simd", where = SEVERAL,
      params = {vector = 32, mr = 6}, note = "a batch, vectors of 32 bytes"},
    {class = "cpu", type = "half", rung = "small_simd", where = SEVERAL,
      params = {vector = 32}, note = "a batch of small products"},
    {class = "cpu", rung = "small_simd", where = SEVERAL,
      note = "a batch, vectors of 64 bytes"},
    {rung = "small", where = SEVERAL, note = "a batch of small products"},
    {rung = "naive", where = {work = {max = TINY}},
      note = "too small for tiles"},
    {class = "cpu_16", rung = "simd", params = {vector = 16, mr = 6},
      note = "vectors of 16 bytes"},
    {class = "cpu_16", rung = "simd", note = "little local memory",
      params = {vector = 16, mr = 6, nt = 4, kc = 128, pack_a = 1}},
    {class = "cpu_32", rung = "simd", params = {vector = 32, mr = 6},
      note = "vectors of 32 bytes"},
    {class = "cpu_32", rung = "simd", note = "little local memory",
      params = {vector = 32, mr = 6, nt = 4, kc = 128, pack_a = 1}},
    {class = "cpu", type = "half", rung = "simd", params = {vector = 32}},
    {class = "cpu", type = "half", rung = "simd",
      params = {vector = 32, nt = 4, kc = 128, pack_a = 1},
      note = "little local memory"},
    {class = "cpu", type = "double", rung = "simd",
      params = {nt = 8, kc = 1024, pack_a = 1, ahead = 16},
      where = {n = {min = WIDE}, m = {min = WIDE}},
      note = "A would be copied for each of several tiles"},
    {class = "cpu", rung = "simd", params = {pack_a = 1, ahead = 16},
      where = {n = {min = WIDE}, m = {min = WIDE}},
      note = "A would be copied for each of several tiles"},
    {class = "cpu", type = "double", rung = "simd",
      params = {nt = 32, kc = 256}, note = "slabs of A in the first cache"},
    {class = "cpu", rung = "simd", note = "vectors of 64 bytes"},
    {class = "cpu", rung = "simd", params = {nt = 8},
      note = "a second cache of 1 MiB"},
    {class = "cpu", rung = "simd", note = "little local memory",
      params = {nt = 2, kc = 128, pack_a = 1}},
    {class = "cpu", rung = "naive"},
    {rung = "naive", where = {work = {max = SMALL}, batch = 1},
      note = "too small for tiles"},
    {class = "nvidia", type = "float", rung = "nv_fp16x3", guarded = true,
      where = {m = {min = 960}, n = {min = 960}, k = {min = 960}},
      note = "splitting the operands pays from 960 on (H100)"},
    {class = "nvidia", type = "float", rung = "nv_fp16x3", guarded = true,
      where = {m = {min = 256}, n = {min = 256}, k = {min = 512},
        work = {min = 2^32}}, note = "and where all is large but one (H100)"},
    {class = "nvidia", type = "float", rung = "nv_fp16x3_mma", guarded = true,
      where = {m = {min = 2048}, n = {min = 2048}, k = {min = 2048}},
      note = "before Hopper"},
    {class = "nvidia", type = "half", rung = "nv_hgemm"},
    {class = "nvidia", type = "double", rung = "nv_dmma"},
    {class = "nvidia", rung = "nv_ffma"},
    {rung = "register"},
    {rung = "tiled_float4"},
    {rung = "tiled_padded"},
    {rung = "naive"},
  },

  spmv = {
    {class = "cpu", rung = "csr_scalar", where = {format = "csr"}},
    {rung = "csr_vector", where = {format = "csr", row = {min = LONG}},
      note = "rows long enough for several work-items"},
    {rung = "csr_scalar", where = {format = "csr"}},
    {class = "cpu", rung = "packed",
      where = {format = "packed", bytes = {max = CACHED}},
      params = {wg = 1, width = 8, steps = 64, single = 0},
      note = "small enough to stay in the cache"},
    {class = "cpu", type = "double", rung = "packed",
      where = {format = "packed"},
      params = {wg = 1, width = 8, steps = 256, single = 0, stream = 1}},
    {class = "cpu", rung = "packed", where = {format = "packed"},
      params = {wg = 1, width = 16, steps = 256, single = 0, stream = 1}},
    {class = "nvidia", type = "double", rung = "packed",
      where = {format = "packed"},
      params = {wg = 256, width = 2, blocks = 1}},
    {class = "nvidia", rung = "packed", where = {format = "packed"},
      params = {wg = 256, width = 4, blocks = 1}},
    {rung = "packed", where = {format = "packed"}, params = {wg = 256}},
    {rung = "packed", where = {format = "packed"}, params = {wg = 32}},
    {class = "cpu", rung = "simd", where = {bytes = {max = CACHED}},
      params = {stream = 0}, note = "small enough to stay in the cache"},
    {class = "cpu", type = "double", rung = "simd", params = {width = 8}},
    {class = "cpu", rung = "simd"},
    {class = "cpu", rung = "naive"},
    {class = "nvidia", type = "double", rung = "specialised",
      params = {width = 1, wg = 256}, note = "8 bytes per load"},
    {class = "nvidia", rung = "specialised", params = {width = 2, wg = 256},
      note = "8 bytes per load"},
    {rung = "specialised"},
    {rung = "local_offsets"},
    {rung = "naive"},
  },

  transpose = {
    {class = "cpu", rung = "simd", where = {bytes = {max = CACHED}},
      params = {vector = 32, tile_rows = 64, tile_cols = 64, stream = 0},
      note = "small enough to stay in the cache"},
    {class = "cpu_16", rung = "simd", params = {vector = 16},
      note = "vectors of 16 bytes"},
    {class = "cpu_32", rung = "simd", params = {vector = 32},
      note = "vectors of 32 bytes"},
    {class = "cpu", type = "half", rung = "simd", params = {vector = 32}},
    {class = "cpu", type = "double", rung = "simd", params = {tile_rows = 64}},
    {class = "cpu", rung = "simd", note = "vectors of 64 bytes"},
    {class = "cpu", rung = "simd",
      params = {vector = 32, tile_rows = 32, tile_cols = 256},
      note = "little local memory"},
    {class = "cpu", rung = "naive_write"},
    {class = "nvidia", type = "double", rung = "tiled_padded"},
    {rung = "float4"},
    {rung = "tiled_padded"},
    {rung = "naive_write"},
  },

  reduce = {
    {class = "cpu", rung = "simd", where = {bytes = {max = CACHED}},
      params = {block = 16384}, note = "small enough for few cores"},
    {class = "cpu", rung = "simd"},
    {class = "nvidia", rung = "nv_one_launch"},
    {rung = "grid_stride"},
    {rung = "grid_stride", params = {wg = 64}, note = "small work-groups"},
    {rung = "sequential", params = {wg = 32}},
  },

  scan = {
    {class = "cpu", rung = "blocks", params = {block = 16384},
      where = {n = {max = 16384}}, note = "one launch"},
    {class = "cpu", rung = "simd", params = {block = 16384},
      where = {bytes = {max = 2^22}}, note = "a share for each core"},
    {class = "cpu", rung = "simd", note = "at the rate of a copy"},
    {class = "cpu", rung = "blocks", note = "without 64-bit atomics"},
    {class = "nvidia", rung = "totals", where = {n = {max = 4096}},
      note = "one launch"},
    {class = "nvidia", rung = "nv_stream", params = {wg = 256, units = 3},
      where = {bytes = {max = 2^23}}, note = "small tiles (H100)"},
    {class = "nvidia", rung = "nv_stream", params = {units = 3},
      where = {bytes = {max = 2^25}}, note = "middle ones (H100)"},
    {class = "nvidia", rung = "nv_stream", note = "at the rate of a copy"},
    {class = "nvidia", type = "int", rung = "lookback",
      params = {each = 32}, note = "ints: float sums would depend on time"},
    {rung = "totals"},
    {rung = "totals", params = {wg = 64}, note = "small work-groups"},
    {rung = "doubling", params = {wg = 32}},
  },

  sort = {
    {class = "cpu", rung = "blocks", where = {bytes = {max = CACHED}},
      params = {block = 16384}, note = "small enough for few cores"},
    {class = "cpu", rung = "blocks"},
    {rung = "bitonic_local", where = {n = {max = 2048}},
      note = "few launches"},
    {class = "nvidia", rung = "nv_onesweep", params = {each = 4},
      where = {n = {max = 2^17}}, note = "a tile for many units (H100)"},
    {class = "nvidia", rung = "nv_onesweep", params = {each = 8},
      where = {n = {max = 2^19}}, note = "small tiles (H100)"},
    {class = "nvidia", rung = "nv_onesweep", params = {each = 11},
      where = {esize = 8}, note = "keys of 8 bytes (H100)"},
    {class = "nvidia", rung = "nv_onesweep", params = {each = 18},
      where = {index = true}, note = "with places (H100)"},
    {class = "nvidia", rung = "nv_onesweep",
      note = "one pass for each byte of the keys"},
    {rung = "wide", params = {each = 16}},
    {rung = "wide"},
    {rung = "wide", params = {each = 4}, note = "little local memory"},
    {rung = "split", params = {wg = 64, each = 4},
      note = "small work-groups"},
    {rung = "bitonic"},
  },

  gemv = {
    {class = "cpu", rung = "simd", where = {bytes = {max = CACHED}},
      params = {block = 16}, note = "small enough for few cores"},
    {class = "cpu", rung = "simd"},
    {class = "cpu", rung = "simd_split"},
    {rung = "lanes", where = {cols = {max = NARROW}}, note = "short rows"},
    {class = "nvidia", type = "float", rung = "vector",
      params = {wg = 32, width = 4, height = 1}, note = "tuned on an H200"},
    {rung = "vector"},
    {class = "nvidia", type = "float", rung = "strips",
      where = {cols = {min = 8192}},
      note = "transposed, strips for all compute units (H200)"},
    {rung = "split"},
    {rung = "naive", params = {wg = 32}, note = "small work-groups"},
    {rung = "columns", params = {wg = 32}, note = "small work-groups"},
  },

  stencil = {
    {class = "cpu", rung = "simd", where = {bytes = {max = CACHED}},
      params = {height = 16, stream = 0},
      note = "small enough to stay in the cache"},
    {class = "cpu", rung = "simd", params = {height = 256, streams = 4},
      where = {bytes = {min = 2^27}}, note = "rows enough for all cores"},
    {class = "cpu", rung = "simd"},
    {class = "nvidia", type = "float", rung = "vector",
      params = {lx = 128, height = 4}, note = "tuned on H100 and H200"},
    {rung = "vector"},
    {rung = "rows", params = {lx = 32}, note = "small work-groups"},
  },

  conv2d = {
    {class = "cpu", rung = "simd", where = {bytes = {max = CACHED}},
      params = {tall = 8, span = 256, stream = 0},
      note = "small enough for few cores, and to stay in the cache"},
    {class = "cpu", rung = "simd", params = {height = 6, span = 8192,
      tall = 24}, where = {frows = {max = 5}},
      note = "few rows: more of them side by side, and whole"},
    {class = "cpu", rung = "simd"},
    {class = "nvidia", type = "float", rung = "slide",
      params = {lx = 128, ly = 2, height = 2, ahead = 1},
      where = {frows = {max = 3}, fcols = {max = 3}, rest = 0},
      note = "tuned on an H100"},
    {class = "nvidia", type = "float", rung = "slide",
      params = {lx = 128, ly = 2, height = 4, ahead = 1},
      where = {frows = {max = 5}, fcols = {max = 5}, rest = 0},
      note = "tuned on an H100"},
    {class = "nvidia", type = "float", rung = "slide",
      params = {ly = 2, ahead = 1}, where = {rest = 0},
      note = "filters that registers hold (H100)"},
    {rung = "vector"},
    {rung = "vector", params = {unroll = 0}, note = "large filters"},
    {rung = "tiled", params = {lx = 16, ly = 4}, note = "little local memory"},
    {rung = "naive", params = {lx = 16, ly = 4}},
  },
}
