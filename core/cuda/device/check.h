// Error checks for calls to CUDA, cuDNN and cuBLASLt.
#pragma once

#include <cuda_runtime_api.h>

namespace ptrain::cuda {

/// Throw Error{failed} with the call's text and the library's message; OutOfMemory (also an Error{failed}) when device
/// memory did not suffice. `status` is the library's status code.
[[noreturn]] void cuda_failed(cudaError_t status, const char* call);
[[noreturn]] void cudnn_failed(int status, const char* call);
[[noreturn]] void cublas_failed(int status, const char* call);

}  // namespace ptrain::cuda

#define CUDA_CHECK(call)                                                                 \
  do {                                                                                   \
    const cudaError_t ptrain_status = (call);                                            \
    if (ptrain_status != cudaSuccess) ::ptrain::cuda::cuda_failed(ptrain_status, #call); \
  } while (false)

// The success codes of both libraries are 0.
#define CUDNN_CHECK(call)                                                       \
  do {                                                                          \
    const int ptrain_status = static_cast<int>(call);                           \
    if (ptrain_status != 0) ::ptrain::cuda::cudnn_failed(ptrain_status, #call); \
  } while (false)

#define CUBLAS_CHECK(call)                                                       \
  do {                                                                           \
    const int ptrain_status = static_cast<int>(call);                            \
    if (ptrain_status != 0) ::ptrain::cuda::cublas_failed(ptrain_status, #call); \
  } while (false)
