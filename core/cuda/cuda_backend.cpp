#include "core/cuda/cuda_backend.h"

#include "core/base/errors.h"
#include "core/base/gpu_datasheet.h"
#include "core/cuda/cuda_kernel_library.h"
#include "core/cuda/device/check.h"
#include "core/cuda/device/event_timer.h"
#include "core/cuda/device/gpu_memory.h"
#include "core/cuda/device/nvml.h"
#include "core/cuda/device/recorded_sequence.h"
#include "core/cuda/library/gpu_description.h"
#include "core/cuda/library/nccl_collectives.h"
#include "core/cuda/library/nvjpeg_decoder.h"

#include <cudnn.h>
#include <nvtx3/nvToolsExt.h>

namespace ptrain::cuda {
namespace {

std::string cudnn_version() {
  const std::size_t version = cudnnGetVersion();
  return fmt::format("cuDNN {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

class GpuStream final : public Stream {
 public:
  explicit GpuStream(Device& device) : device_(device) {}

  void synchronize() override { CUDA_CHECK(cudaStreamSynchronize(device_.stream())); }
  void begin_range(const char* name) override { nvtxRangePushA(name); }
  void end_range() override { nvtxRangePop(); }
  bool runs_ahead() const override { return true; }
  std::unique_ptr<LapTimer> make_lap_timer() override { return std::make_unique<EventTimer>(device_); }
  std::unique_ptr<LaunchSequence> make_sequence() override { return std::make_unique<RecordedSequence>(device_); }

 private:
  Device& device_;
};

class GpuInstruments final : public Instruments {
 public:
  explicit GpuInstruments(const Device& device) : device_(device) {}

  std::unique_ptr<Sensors> make_sensors() const override {
    char pci_bus_id[32];
    CUDA_CHECK(cudaDeviceGetPCIBusId(pci_bus_id, sizeof pci_bus_id, device_.index()));
    if (pci_bus_id[0] == '\0') return nullptr;  // not on a PCI bus
    return std::make_unique<Nvml>(pci_bus_id);
  }

  std::optional<double> datasheet_peak_flops(DType dtype, const KernelOptions& options) const override {
    return ptrain::datasheet_peak_flops(device_.properties().name, dtype, options.tf32);
  }

 private:
  const Device& device_;
};

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int index)
      : device_(index),
        memory_(device_),
        stream_(device_),
        kernels_(device_, fmt::format("{}, {}", device_.properties().name, cudnn_version())),
        instruments_(device_) {}
  ~CudaBackend() override { cudaStreamSynchronize(device_.stream()); }

  std::string_view name() const override { return "cuda"; }
  std::string library() const override { return cudnn_version(); }
  BackendInfo info() const override { return cuda_info(); }
  std::vector<std::string> take_notes() override { return device_.take_notes(); }

  DeviceMemory& memory() override { return memory_; }
  Stream& stream() override { return stream_; }
  KernelLibrary& kernels() override { return kernels_; }
  const Instruments& instruments() override { return instruments_; }

  std::shared_ptr<Collectives> make_collectives(HostCollectives& host) override {
    return make_nccl_collectives(device_, host);
  }
  MakeImageDecoder image_decoders() override {
    if (!decoders_) decoders_ = make_nvjpeg_decoders(device_);
    return decoders_;
  }

 private:
  Device device_;
  GpuMemory memory_;
  GpuStream stream_;
  CudaKernels kernels_;
  GpuInstruments instruments_;
  MakeImageDecoder decoders_;  // created when first requested
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
