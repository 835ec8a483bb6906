#include "core/cuda/engine_compiler.h"

#include "core/base/errors.h"
#include "core/cuda/cuda_backend.h"
#include "core/cuda/cuda_kernel_library.h"
#include "core/cuda/cuda_kernel_registry.h"
#include "core/cuda/library/compiled_graph.h"
#include "core/cuda/library/shipped_engines.h"

namespace ptrain::cuda {
namespace {

[[noreturn]] void reject() { fail("nothing runs on a GPU that is only described"); }

/// A kernel that needs more than cuDNN's plans: cuBLASLt's algorithms, memory.
class UnmadeKernel final : public Kernel {
 public:
  void run(const KernelArgs&) override { reject(); }
};

class DescribedKernels final : public CudaKernels {
 public:
  using CudaKernels::CudaKernels;

  std::unique_ptr<Kernel> make_kernel(const KernelContext& context) override {
    if (find_kernel(context.op.kernel()) == nullptr) return CudaKernels::make_kernel(context);  // throws
    try {
      std::unique_ptr<Kernel> kernel = CudaKernels::make_kernel(context);
      if (const KernelRecord record = kernel->record();
          context.options.persistent_batch_norm && record.batch_norm == BatchNormPart::plain) {
        ++norms_left_out_;
        reason_ = record.implementation;
      }
      return kernel;
    } catch (const Error&) {
      return std::make_unique<UnmadeKernel>();
    }
  }

  bool fuses_convolutions() const override { return false; }  // the decision would need timing

  std::int64_t norms_left_out() const { return norms_left_out_; }
  const std::string& reason() const { return reason_; }

 private:
  std::int64_t norms_left_out_ = 0;
  std::string reason_;
};

class NoMemory final : public DeviceMemory {
 public:
  void* allocate(std::size_t) override { reject(); }
  void release(void*, std::size_t) override {}
  std::size_t available() const override { return 0; }
  void copy_to_device(void*, const void*, std::size_t) override { reject(); }
  void copy_to_host(void*, const void*, std::size_t) override { reject(); }
  bool host_reads_device() const override { return false; }
};

class DescribedGpu final : public EngineCompiler {
 public:
  DescribedGpu(const GpuDescription& gpu, const std::filesystem::path& folder)
      : folder_(plans_folder(folder, gpu)),
        device_(gpu, new_plans(folder, gpu)),
        kernels_(device_, gpu.name + ", described") {}

  std::string_view name() const override { return "cuda"; }
  std::string library() const override { return "cuDNN " + cuda_info().versions.at("cuDNN"); }

  DeviceMemory& memory() override { return memory_; }
  Stream& stream() override { return stream_; }
  KernelLibrary& kernels() override { return kernels_; }
  const Instruments& instruments() override { return instruments_; }

  CompiledEngines compiled() const override {
    CompiledEngines compiled{device_.properties().name, folder_,
                             static_cast<std::int64_t>(device_.planned_graphs().by_problem.size())};
    compiled.norms_left_out = kernels_.norms_left_out();
    compiled.reason = kernels_.reason();
    for (const auto& file : std::filesystem::directory_iterator(folder_)) {
      compiled.bytes += static_cast<std::int64_t>(file.file_size());
    }
    return compiled;
  }

 private:
  std::filesystem::path folder_;
  Device device_;
  NoMemory memory_;
  Stream stream_;  // nothing is launched
  DescribedKernels kernels_;
  Instruments instruments_;
};

}  // namespace

std::unique_ptr<EngineCompiler> make_plan_compiler(const std::string& description,
                                                   const std::filesystem::path& folder) {
  return std::make_unique<DescribedGpu>(parse_gpu_description(description), folder);
}

}  // namespace ptrain::cuda
