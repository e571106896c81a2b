-- arrays/streaming_stores.lua - the kernel of a calculation whose results go
-- past the caches of a CPU
-- A CPU that writes an element first fetches its line. Stores past the caches
-- save the fetch, which pays where the results are too many to stay in a
-- cache. Such a store takes a whole line: results are collected in pieces.
-- A work-item goes through several parts of its elements side by side and asks
-- for elements ahead, so that more of memory is under way. On a Xeon (two
-- cores) a chain of five operations on 2^26 floats moves 47 GB/s in place of
-- 26, a copy 47.
-- SPDX-License-Identifier: MIT

local M = {}

--- streaming_stores.EACH
--- The elements of a work-item.
M.EACH = 65536

local WORDS = {EACH = M.EACH, STREAMS = 4, PIECE = 128, AHEAD = 128}

local BODY = [[
  const size_t first_ = get_global_id(0) * EACH;
#ifdef __has_builtin
#if __has_builtin(__builtin_nontemporal_store)
  if (first_ + EACH <= n1_ALIGNED) {
    for (size_t p_ = 0; p_ < EACH / STREAMS; p_ += PIECE)
      for (uint s_ = 0; s_ < STREAMS; s_++) {
        const size_t at_ = first_ + s_ * (EACH / STREAMS) + p_;
        DECLARE
        ASK
        for (uint k_ = 0; k_ < PIECE; k_++)
          stream_(at_ + k_, 0, GIVEN TARGETS);
        STORE
      }
    return;
  }
#endif
#endif
  for (size_t i1_ = first_; i1_ < min(first_ + EACH, n1_); i1_++)
    element_(i1_, 0, GIVEN);]]

local ALIGNED = " && (uintptr_t)b%d_ %% 64 == 0"
local DECLARE = "union { ulong8 lines[PIECE * sizeof(%s) / 64]; "
  .. "%s one[PIECE]; } own%d_; "
local ASK = [[
for (uint k_ = 0; k_ < PIECE; k_ += 64 / sizeof(%s))
          __builtin_prefetch((const void *)(size_t)(b%d_ + at_ + k_ + AHEAD));
        ]]
local STORE = [[
for (uint k_ = 0; k_ < PIECE * sizeof(%s) / 64; k_++)
          __builtin_nontemporal_store(own%d_.lines[k_],
            (global ulong8 *)(b%d_ + at_) + k_);
        ]]

--- streaming_stores.body(parts, given, is_result) -> string
--- The kernel's body; `given` are the names of its parameters. It calls
--- element_(i1_, q_, given) and stream_(i1_, q_, given, own, ...), with a
--- place for each result: a part of fused.lua for which is_result(part) holds.
function M.body(parts, given, is_result)
  local words = {GIVEN = given, ALIGNED = "", DECLARE = "", ASK = "",
    TARGETS = "", STORE = ""}
  local function add(word, form, ...)
    words[word] = words[word] .. form:format(...)
  end
  for k, part in ipairs(parts) do
    local type = part.leaf and part.leaf.kind.type
    if is_result(part) then
      add("ALIGNED", ALIGNED, k)
      add("DECLARE", DECLARE, type, type, k)
      add("TARGETS", ", own%d_.one + k_", k)
      add("STORE", STORE, type, k, k)
    elseif part.leaf and part.load then
      add("ASK", ASK, type, k)
    end
  end
  local function fill(text)
    return (text:gsub("%u%u+", function(word)
      return words[word] or WORDS[word]
    end))
  end
  return fill(fill(BODY))
end

return M
