#include "core/cuda/device/device.h"

#include "core/base/errors.h"
#include "core/cuda/device/check.h"
#include "core/cuda/library/compiled_graph.h"
#include "core/cuda/library/gpu_description.h"

#include <cublasLt.h>
#include <cudnn.h>

#include <algorithm>
#include <utility>

namespace ptrain::cuda {

Device::Device(int index) : index_(index) {
  make_current();
  CUDA_CHECK(cudaGetDeviceProperties(&properties_, index));
  planned_graphs_ = std::make_unique<CompiledGraphs>(CompiledGraphs{{}, cached_plans(properties_.name)});
  // Does not synchronise with the default stream: nothing runs there.
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
}

Device::Device(const GpuDescription& gpu, EngineCache plans)
    : index_(0),
      described_(std::make_unique<CudnnTarget>(CudnnTarget::described(gpu.json, gpu.compute_capability))),
      planned_graphs_(std::make_unique<CompiledGraphs>(CompiledGraphs{{}, std::move(plans), EngineCache()})) {
  gpu.name.copy(properties_.name, sizeof properties_.name - 1);
  properties_.major = gpu.compute_capability / 10;
  properties_.minor = gpu.compute_capability % 10;
  properties_.multiProcessorCount = gpu.multiprocessors;
}

Device::~Device() {
  planned_graphs_.reset();  // before the handle that they use
  for (const auto& [thread, handle] : cudnn_) cudnnDestroy(handle);
  if (cublas_lt_ != nullptr) cublasLtDestroy(cublas_lt_);
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

void Device::make_current() const {
  if (!is_described()) CUDA_CHECK(cudaSetDevice(index_));
}

cudnnHandle_t Device::cudnn() const {
  invariant(described_ == nullptr, "a GPU that is only described has no cuDNN handle");
  const std::lock_guard lock(cudnn_mutex_);
  cudnnHandle_t& handle = cudnn_[std::this_thread::get_id()];
  if (handle == nullptr) {
    make_current();
    CUDNN_CHECK(cudnnCreate(&handle));
    CUDNN_CHECK(cudnnSetStream(handle, stream_));
  }
  return handle;
}

CudnnTarget Device::cudnn_target() const { return described_ != nullptr ? *described_ : CudnnTarget(cudnn()); }

void Device::note(const std::string& line) {
  if (std::find(notes_.begin(), notes_.end(), line) == notes_.end()) notes_.push_back(line);
}

std::vector<std::string> Device::take_notes() {
  const auto first = notes_.begin() + static_cast<std::ptrdiff_t>(std::exchange(notes_taken_, notes_.size()));
  return {first, notes_.end()};
}

cublasLtHandle_t Device::cublas_lt() const {
  make_current();
  if (cublas_lt_ == nullptr) CUBLAS_CHECK(cublasLtCreate(&cublas_lt_));
  return cublas_lt_;
}

}  // namespace ptrain::cuda
