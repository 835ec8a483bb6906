// The emulated GPU in the form of cuDNN's descriptions.
#include "core/cuda/library/gpu_description.h"

#include <cuda_runtime_api.h>
#include <nlohmann/json.hpp>

namespace ptrain::cuda {

std::string describe_gpu(cudnnHandle_t) {
  cudaDeviceProp gpu;
  cudaGetDeviceProperties(&gpu, 0);
  return nlohmann::json{{"deviceName", gpu.name},
                        {"deviceVer", 100 * gpu.major + 10 * gpu.minor},
                        {"multiProcessorCount", gpu.multiProcessorCount}}
      .dump();
}

}  // namespace ptrain::cuda
