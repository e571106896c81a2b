/* threefry.cl - Threefry 4x32-20, random numbers by their number
** SPDX-License-Identifier: MIT
**
**   threefry(counter, key)   four words of 32 random bits
**
** Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2, 3
** (2011). As philox.cl, but its twenty rounds add, rotate and xor: for devices
** without fast products.
**
** Defines: none.
*/
constant uint2 threefry_turns[8] = {
  (uint2)(10, 26), (uint2)(11, 21), (uint2)(13, 27), (uint2)(23, 5),
  (uint2)(6, 20),  (uint2)(17, 11), (uint2)(25, 10), (uint2)(18, 20)};

uint4 threefry(uint4 c, uint4 key)
{
  uint parts[5] = {key.x, key.y, key.z, key.w,
                   0x1BD11BDAu ^ key.x ^ key.y ^ key.z ^ key.w};
  c += key;
#pragma unroll
  for (uint round = 0; round < 20; round++) {
    const uint2 turned = rotate(c.yw, threefry_turns[round % 8]);
    c.xz += c.yw;
    c.yw = turned ^ c.xz;
    c = c.xwzy; /* the other two meet in the next round */
    if (round % 4 == 3) {
      const uint k = round / 4 + 1;
      c += (uint4)(parts[k % 5], parts[(k + 1) % 5], parts[(k + 2) % 5],
                   parts[(k + 3) % 5] + k);
    }
  }
  return c;
}
