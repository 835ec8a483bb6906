// Detects GPUs and libraries.
#include "core/cuda/cuda_backend.h"
#include "core/cuda/device/driver_version.h"
#include "core/cuda/library/nvjpeg_functions.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <nccl.h>

namespace ptrain::cuda {
namespace {

constexpr int oldest_major = 8;  // Ampere, the oldest architecture that is compiled for

std::string cuda_version(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

/// The file that a function was loaded from; empty for the program itself, or if unknown.
std::string find_file(void* address) {
  Dl_info found{};
  if (address == nullptr || dladdr(address, &found) == 0 || found.dli_fname == nullptr) return {};
  return found.dli_fname;
}

/// nvJPEG is loaded only when used.
void add_nvjpeg(BackendInfo& info) {
  const NvjpegFunctions* const nvjpeg = find_nvjpeg();
  if (nvjpeg == nullptr) {
    info.missing["nvJPEG"] = fmt::format("none for data.decoder gpu: {}", nvjpeg_missing());
    return;
  }
  int parts[3] = {};
  for (int part = 0; part < 3; ++part) nvjpeg->get_property(part, &parts[part]);
  info.versions["nvJPEG"] = fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
  if (std::string file = find_file(reinterpret_cast<void*>(nvjpeg->get_property)); !file.empty()) {
    info.files["nvJPEG"] = std::move(file);
  }
}

}  // namespace

std::string unavailable_reason() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) {
    int driver = 0;
    cudaDriverGetVersion(&driver);
    if (driver == 0) return "no NVIDIA driver is installed";
    return fmt::format("the NVIDIA driver supports CUDA {}, but this ptrain needs {}", cuda_version(driver),
                       cuda_version(CUDART_VERSION));
  }
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0)) return "no NVIDIA GPU is visible";
  if (status != cudaSuccess) return fmt::format("CUDA does not start: {}", cudaGetErrorString(status));
  cudaDeviceProp properties{};
  if (const cudaError_t properties_status = cudaGetDeviceProperties(&properties, 0); properties_status != cudaSuccess)
    return fmt::format("the GPU does not answer: {}", cudaGetErrorString(properties_status));
  if (properties.major < oldest_major) {
    return fmt::format("{} has compute capability {}.{}, but {}.0 or newer is needed", properties.name,
                       properties.major, properties.minor, oldest_major);
  }
  return {};
}

BackendInfo cuda_info() {
  BackendInfo info;
  info.versions["CUDA runtime"] = cuda_version(CUDART_VERSION);
  if (const std::string driver = driver_version(); !driver.empty()) info.versions["NVIDIA driver"] = driver;
  const std::size_t cudnn = cudnnGetVersion();
  info.versions["cuDNN"] = fmt::format("{}.{}.{}", cudnn / 10000, cudnn / 100 % 100, cudnn % 100);
  const std::size_t cublas = cublasLtGetVersion();
  info.versions["cuBLASLt"] = fmt::format("{}.{}.{}", cublas / 10000, cublas / 100 % 100, cublas % 100);
  if (int version = 0; ncclGetVersion(&version) == ncclSuccess)
    info.versions["NCCL"] = fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  for (const auto& [library, function] :
       {std::pair{"cuDNN", "cudnnGetVersion"}, {"cuBLASLt", "cublasLtGetVersion"}, {"NCCL", "ncclGetVersion"}}) {
    if (std::string file = find_file(dlsym(RTLD_DEFAULT, function)); !file.empty())
      info.files[library] = std::move(file);
  }
  add_nvjpeg(info);
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) continue;
    info.devices.push_back({properties.name, static_cast<std::int64_t>(properties.totalGlobalMem),
                            fmt::format("{}.{}", properties.major, properties.minor)});
  }
  return info;
}

}  // namespace ptrain::cuda
