/* lines.cl - cache lines that are asked for before their use, and lines that
** are written without being read; kernels of other folders include it
** SPDX-License-Identifier: MIT
**
**   ASK(p)         asks for the line at p, into the first cache
**   ASK_SECOND(p)  the same, into the second
**   PASS(v, p)     *p = v, past the caches; p is aligned to its type
**
** Defines: STREAM, 0: PASS stores as usual.
**
** A core that writes an element fetches its line first. Stores past the caches
** leave that out, where they fill whole lines.
**
** With a compiler that lacks a way, ASK does nothing and PASS stores as usual.
** NVIDIA's compiler has one for stores, but ends some builds with "Broken
** function found".
*/
#ifndef STREAM
#define STREAM 1
#endif
#ifdef __has_builtin
#if __has_builtin(__builtin_prefetch)
#define ASK(p) __builtin_prefetch((const void *)(size_t)(p))
#define ASK_SECOND(p) __builtin_prefetch((const void *)(size_t)(p), 0, 2)
#endif
#if STREAM && __has_builtin(__builtin_nontemporal_store)                      \
    && !defined(__NV_CL_C_VERSION)
#define PASS(v, p) __builtin_nontemporal_store(v, p)
#endif
#endif
#ifndef ASK
#define ASK(p) (void)0
#define ASK_SECOND(p) (void)0
#endif
#ifndef PASS
#define PASS(v, p) (*(p) = (v))
#endif
