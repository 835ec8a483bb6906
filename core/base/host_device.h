// PTRAIN_HD marks inline functions that both the host and device compilers build.
#pragma once

#ifdef __CUDACC__
#define PTRAIN_HD __host__ __device__
#else
#define PTRAIN_HD
#endif

// For element arithmetic called in vectorised loops: a call that is not inlined would keep them scalar.
#define PTRAIN_HD_INLINE PTRAIN_HD inline __attribute__((always_inline))
