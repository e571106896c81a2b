/* philox.cl - Philox 4x32-10, random numbers by their number
** SPDX-License-Identifier: MIT
**
**   philox(counter, key)   four words of 32 random bits
**
** Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2, 3
** (2011). Each counter gives words of its own, in any order, and no state is
** kept. Products of 32 bits by 32 are the work of its ten rounds.
**
** Defines: none.
*/
uint4 philox(uint4 c, uint2 key)
{
#pragma unroll
  for (int round = 0; round < 10; round++) {
    const ulong a = (ulong)0xD2511F53u * c.x, b = (ulong)0xCD9E8D57u * c.z;
    c = (uint4)((uint)(b >> 32) ^ c.y ^ key.x, (uint)b,
                (uint)(a >> 32) ^ c.w ^ key.y, (uint)a);
    key += (uint2)(0x9E3779B9u, 0xBB67AE85u);
  }
  return c;
}
