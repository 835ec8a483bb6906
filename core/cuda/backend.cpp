#include "core/cuda/backend.h"

#include "core/base/errors.h"
#include "core/base/gpu_datasheet.h"
#include "core/cuda/device/check.h"
#include "core/cuda/device/event_timer.h"
#include "core/cuda/device/nvml.h"
#include "core/cuda/device/readback.h"
#include "core/cuda/device/recorded_sequence.h"
#include "core/cuda/device/staging.h"
#include "core/cuda/library/gpu_description.h"
#include "core/cuda/library/nccl_collectives.h"
#include "core/cuda/library/nvjpeg_decoder.h"
#include "core/cuda/option_effects.h"
#include "core/cuda/registry.h"

#include <cudnn.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>

namespace ptrain::cuda {
namespace {

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int index)
      : device_(index), staging_(device_), cache_(fmt::format("{}, {}", device_.properties().name, library())) {}
  ~CudaBackend() override { cudaStreamSynchronize(device_.stream()); }

  std::string_view name() const override { return "cuda"; }

  std::string library() const override {
    const std::size_t version = cudnnGetVersion();
    return fmt::format("cuDNN {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  }

  BackendInfo info() const override { return cuda_info(); }
  std::vector<std::string> take_notes() override { return device_.take_notes(); }
  std::shared_ptr<Collectives> make_collectives(HostCollectives& host) override {
    return make_nccl_collectives(device_, host);
  }
  MakeImageDecoder image_decoders() override {
    if (!decoders_) decoders_ = make_nvjpeg_decoders(device_);
    return decoders_;
  }
  bool fuses_convolutions() const override { return true; }
  DType preferred_low_precision() const override { return DType::f16; }

  std::unique_ptr<Kernel> make_kernel(const KernelContext& context) override {
    const CudaKernelFactory factory = find_kernel(context.op.kernel());
    if (factory == nullptr) fail("the CUDA backend has no kernel for {}", context.op.type());
    return factory(context, device_);
  }

  OptionEffects effects(const KernelOptions& options, std::span<const KernelRecord> kernels) const override {
    return option_effects(options, kernels);
  }

  SearchCache& search_cache() override { return cache_; }

  std::optional<double> datasheet_peak_flops(DType dtype, const KernelOptions& options) const override {
    return ptrain::datasheet_peak_flops(device_.properties().name, dtype, options.tf32);
  }

  std::unique_ptr<Sensors> make_sensors() const override {
    char pci_bus_id[32];
    CUDA_CHECK(cudaDeviceGetPCIBusId(pci_bus_id, sizeof pci_bus_id, device_.index()));
    if (pci_bus_id[0] == '\0') return nullptr;  // no GPU on a bus
    return std::make_unique<Nvml>(pci_bus_id);
  }

  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    if (const cudaError_t status = cudaMalloc(&memory, bytes); status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw OutOfMemory(fmt::format("out of memory: cannot allocate {} MiB on {}, which has {} MiB left", bytes >> 20,
                                    device_.properties().name, available_memory() >> 20));
    } else {
      CUDA_CHECK(status);
    }
    CUDA_CHECK(cudaMemsetAsync(memory, 0, bytes, device_.stream()));
    memory_.resident_bytes += static_cast<std::int64_t>(bytes);
    memory_.peak_resident_bytes = std::max(memory_.peak_resident_bytes, memory_.resident_bytes);
    return memory;
  }

  void release(void* memory, std::size_t bytes) override {
    cudaFree(memory);
    memory_.resident_bytes -= static_cast<std::int64_t>(bytes);
  }

  std::size_t available_memory() const override {
    std::size_t left = 0, total = 0;
    CUDA_CHECK(cudaMemGetInfo(&left, &total));
    return left;
  }

  ProcessMemory memory_use() const override { return memory_; }
  void restart_memory_peak() override { memory_.peak_resident_bytes = memory_.resident_bytes; }

  void copy_to_device(void* device, const void* host, std::size_t bytes) override {
    staging_.to_device(device, host, bytes);
  }
  void copy_to_host(void* host, const void* device, std::size_t bytes) override {
    staging_.to_host(host, device, bytes);
  }
  void synchronize() override { CUDA_CHECK(cudaStreamSynchronize(device_.stream())); }
  void begin_range(const char* name) override { nvtxRangePushA(name); }
  void end_range() override { nvtxRangePop(); }
  bool runs_ahead() const override { return true; }
  std::unique_ptr<Readback> make_readback(std::size_t bytes) override {
    return std::make_unique<PinnedReadback>(device_, bytes);
  }
  std::unique_ptr<LapTimer> make_lap_timer() override { return std::make_unique<EventTimer>(device_); }
  std::unique_ptr<LaunchSequence> make_sequence() override { return std::make_unique<RecordedSequence>(device_); }
  bool host_reads_device() const override { return false; }

 private:
  Device device_;
  Staging staging_;
  SearchCache cache_;
  MakeImageDecoder decoders_;  // once asked for
  ProcessMemory memory_;       // of tensors, without the context and the libraries' own
};

void require_device(int device_index) {
  if (const std::string reason = unavailable_reason(); !reason.empty()) fail("device: cuda: {}", reason);
  int visible = 0;
  CUDA_CHECK(cudaGetDeviceCount(&visible));
  if (device_index >= visible) {
    fail("device: cuda:{}: {} visible here, cuda:0{}", device_index,
         visible == 1 ? "1 GPU is" : fmt::format("{} GPUs are", visible),
         visible == 1 ? "" : fmt::format(" to cuda:{}", visible - 1));
  }
}

}  // namespace

std::unique_ptr<Backend> make_backend(int device_index) {
  require_device(device_index);
  return std::make_unique<CudaBackend>(device_index);
}

std::string gpu_description(int device_index) {
  require_device(device_index);
  return describe_gpu(Device(device_index).cudnn());
}

}  // namespace ptrain::cuda
