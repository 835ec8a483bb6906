#include "core/cuda/device/check.h"

#include "core/base/errors.h"

#include <cublasLt.h>
#include <cudnn.h>

namespace ptrain::cuda {

void cuda_failed(cudaError_t status, const char* call) {
  const std::string message =
      fmt::format("CUDA: {} ({}) from {}", cudaGetErrorString(status), cudaGetErrorName(status), call);
  if (status != cudaErrorMemoryAllocation) throw Error(ExitCode::failed, message);
  cudaGetLastError();  // the error is not sticky: cleanup can continue
  throw OutOfMemory(message);
}

void cudnn_failed(int status, const char* call) {
  char detail[1024] = {};
  cudnnGetLastErrorString(detail, sizeof detail);
  const auto code = static_cast<cudnnStatus_t>(status);
  const std::string message = fmt::format("cuDNN: {} from {}: {}", cudnnGetErrorString(code), call, detail);
  const bool memory = code == CUDNN_STATUS_ALLOC_FAILED || code == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
  if (memory) throw OutOfMemory(message);
  throw Error(ExitCode::failed, message);
}

void cublas_failed(int status, const char* call) {
  const auto code = static_cast<cublasStatus_t>(status);
  const std::string message = fmt::format("cuBLASLt: {} from {}", cublasLtGetStatusString(code), call);
  if (code == CUBLAS_STATUS_ALLOC_FAILED) throw OutOfMemory(message);
  throw Error(ExitCode::failed, message);
}

}  // namespace ptrain::cuda
