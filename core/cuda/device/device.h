// One GPU as kernels see it: its properties, the stream that all work goes through, and the libraries' handles.
#pragma once

#include "core/base/clock.h"

#include <cuda_runtime_api.h>

#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

// As cudnn.h and cublasLt.h declare them; those who call the libraries include their headers.
typedef struct cudnnContext* cudnnHandle_t;
typedef struct cublasLtContext* cublasLtHandle_t;

namespace ptrain::cuda {

class CudnnTarget;
class EngineCache;
struct GpuDescription;
struct CompiledGraphs;

/// Used from the thread that made it, but for cudnn() (CUDA's current device belongs to a thread).
class Device {
 public:
  /// Throws Error{failed} when there is no such device.
  explicit Device(int index);
  /// A GPU that is only described. Kernels' graphs are planned for it and compiled into `plans`; nothing runs, and
  /// whatever else a kernel asks the CUDA libraries for throws Error{failed}.
  Device(const GpuDescription& gpu, EngineCache plans);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int index() const { return index_; }
  bool is_described() const { return described_ != nullptr; }
  cudaStream_t stream() const { return stream_; }
  /// The calling thread's, bound to stream(): plans compile in several threads. Made at the thread's first call, which
  /// takes a moment: call it in a factory, not in Kernel::run.
  cudnnHandle_t cudnn() const;
  /// What cuDNN plans for: cudnn(), or the description.
  CudnnTarget cudnn_target() const;
  /// Made at the first call; the stream is an argument of each of its products.
  cublasLtHandle_t cublas_lt() const;
  const cudaDeviceProp& properties() const { return properties_; }
  int multiprocessors() const { return properties_.multiProcessorCount; }
  /// The cuDNN graphs that were planned for this device.
  CompiledGraphs& planned_graphs() const { return *planned_graphs_; }
  /// Keeps a line for Backend::take_notes, each text once.
  void note(const std::string& line);
  std::vector<std::string> take_notes();
  /// Since work was last seen to end.
  double idle_seconds() const { return busy_ ? busy_->seconds() : std::numeric_limits<double>::infinity(); }
  void note_busy() const { busy_.emplace(); }

 private:
  int index_;
  std::unique_ptr<const CudnnTarget> described_;  // null: the GPU is there
  cudaDeviceProp properties_{};
  cudaStream_t stream_ = nullptr;
  mutable std::mutex cudnn_mutex_;
  mutable std::map<std::thread::id, cudnnHandle_t> cudnn_;
  mutable cublasLtHandle_t cublas_lt_ = nullptr;
  std::unique_ptr<CompiledGraphs> planned_graphs_;
  std::vector<std::string> notes_;
  std::size_t notes_taken_ = 0;
  mutable std::optional<Stopwatch> busy_;  // since it was
};

}  // namespace ptrain::cuda
