// PTRAIN_HD marks inline functions that both the host and device compilers build.
#pragma once

#ifdef __CUDACC__
#define PTRAIN_HD __host__ __device__
#else
#define PTRAIN_HD
#endif
