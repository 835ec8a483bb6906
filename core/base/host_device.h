// PTRAIN_HD marks inline functions that both the host and device compilers build.
#pragma once

#ifdef __CUDACC__
#define PTRAIN_HD __host__ __device__
#else
#define PTRAIN_HD
#endif

// For element arithmetic that vectorised loops call: a call left standing would keep them scalar.
#define PTRAIN_HD_INLINE PTRAIN_HD inline __attribute__((always_inline))
