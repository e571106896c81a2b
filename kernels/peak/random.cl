/* random.cl - random bits for bandwidth tests: data that no memory compresses
** SPDX-License-Identifier: MIT
**
**   out[i] = 1 + mantissa / 2^23, from 23 bits of a hash of i and the seed
**
** The hash is the finaliser of MurmurHash3 (Appleby): each bit of the result
** depends on each bit of the index.
**
** Arguments:
**   n     floats to write
**   seed  another one gives other numbers
**   out   out: n floats from [1, 2), so that sums of them stay finite
** NDRange: one dimension, any global and local size.
** Defines: none.
** Assumes nothing.
**
** Lesson: some devices compress data on the way to memory. A copy of zeros, or
** of any constant, is then faster than the memory.
*/
kernel void random_floats(ulong n, uint seed, global float *restrict out)
{
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) {
    uint h = (uint)i * 0x9e3779b9u + seed;
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    h ^= h >> 16;
    out[i] = as_float(0x3f800000u | h >> 9);
  }
}
