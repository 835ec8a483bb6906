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

// As declared in cudnn.h and cublasLt.h; callers of the libraries include those headers.
typedef struct cudnnContext* cudnnHandle_t;
typedef struct cublasLtContext* cublasLtHandle_t;

namespace ptrain::cuda {

class CudnnTarget;
class EngineCache;
struct GpuDescription;
struct CompiledGraphs;

/// Used by one thread at a time, not always the same one, except cudnn().
class Device {
 public:
  /// Throws Error{failed} when the device does not exist.
  explicit Device(int index);
  /// A GPU that is only described. Kernels' graphs are planned for it and compiled into `plans`; nothing runs, and
  /// every other use of the CUDA libraries throws Error{failed}.
  Device(const GpuDescription& gpu, EngineCache plans);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int index() const { return index_; }
  bool is_described() const { return described_ != nullptr; }
  /// Makes this GPU the calling thread's current one: what is allocated and created from then on belongs to it. CUDA
  /// begins every thread with the first GPU.
  void make_current() const;
  /// The stream of all work, for a thread whose current GPU is this one from now on.
  cudaStream_t stream() const {
    make_current();
    return stream_;
  }
  /// The calling thread's handle, bound to stream(): plans compile in several threads. A thread's first call creates
  /// it, which is slow: call it in a factory, not in Kernel::run.
  cudnnHandle_t cudnn() const;
  /// The target of cuDNN's plans: cudnn(), or the description.
  CudnnTarget cudnn_target() const;
  /// Created at the first call; its products take the stream as an argument.
  cublasLtHandle_t cublas_lt() const;
  const cudaDeviceProp& properties() const { return properties_; }
  int multiprocessors() const { return properties_.multiProcessorCount; }
  /// Whether its tensor cores multiply e4m3 and e5m2: Ada (8.9), Hopper (9.0) and later.
  bool has_fp8() const { return properties_.major * 10 + properties_.minor >= 89; }
  /// The cuDNN graphs that were planned for this device.
  CompiledGraphs& planned_graphs() const { return *planned_graphs_; }
  /// Keeps a line for Backend::take_notes, each text once.
  void note(const std::string& line);
  std::vector<std::string> take_notes();
  /// Seconds since work was last known to have ended.
  double idle_seconds() const { return busy_ ? busy_->seconds() : std::numeric_limits<double>::infinity(); }
  void note_busy() const { busy_.emplace(); }

 private:
  int index_;
  std::unique_ptr<const CudnnTarget> described_;  // null: the GPU is present
  cudaDeviceProp properties_{};
  cudaStream_t stream_ = nullptr;
  mutable std::mutex cudnn_mutex_;
  mutable std::map<std::thread::id, cudnnHandle_t> cudnn_;
  mutable cublasLtHandle_t cublas_lt_ = nullptr;
  std::unique_ptr<CompiledGraphs> planned_graphs_;
  std::vector<std::string> notes_;
  std::size_t notes_taken_ = 0;
  mutable std::optional<Stopwatch> busy_;  // since the last known end of work
};

}  // namespace ptrain::cuda
