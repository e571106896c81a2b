/* dot4.cl - the sum of four products of char, added to an int
** SPDX-License-Identifier: MIT
**
** dot.cl and peak/fma.cl include it. DOT4(a, b, sum) is sum + a0 b0 + a1 b1 +
** a2 b2 + a3 b3, which wraps around; a0 to a3 are the bytes of the uint a.
**
** Lesson: the built-in of OpenCL 3 where the device has it, else NVIDIA's
** instruction, else C, of which a compiler may make an instruction. */
#if defined(cl_khr_integer_dot_product) \
  && defined(__opencl_c_integer_dot_product_input_4x8bit_packed)
#define DOT4(a, b, sum) \
  (int)((uint)(sum) + (uint)dot_4x8packed_ss_int(a, b))
#elif defined(__NV_CL_C_VERSION)
int dot4(uint a, uint b, int sum)
{
  int result; /* from compute capability 6.1 on */
  __asm__("dp4a.s32.s32 %0, %1, %2, %3;"
          : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  return result;
}
#define DOT4(a, b, sum) dot4(a, b, sum)
#else
int dot4(uint a, uint b, int sum)
{
  const char4 x = as_char4(a), y = as_char4(b);
  return (int)((uint)sum
               + (uint)(x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w));
}
#define DOT4(a, b, sum) dot4(a, b, sum)
#endif
