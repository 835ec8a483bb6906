#include "core/cuda/plan_compiler.h"

#include "core/base/errors.h"
#include "core/cuda/backend.h"
#include "core/cuda/library/planned_graph.h"
#include "core/cuda/library/shipped_plans.h"
#include "core/cuda/option_effects.h"
#include "core/cuda/registry.h"

namespace ptrain::cuda {
namespace {

[[noreturn]] void refuse() { fail("nothing runs on a GPU that is only described"); }

/// Of what takes more than cuDNN's plans to make: cuBLASLt's algorithms, memory.
class UnmadeKernel final : public Kernel {
 public:
  void run(const KernelArgs&) override { refuse(); }
};

class DescribedGpu final : public PlanCompiler {
 public:
  DescribedGpu(const GpuDescription& gpu, const std::filesystem::path& folder)
      : folder_(plans_folder(folder, gpu)), device_(gpu, new_plans(folder, gpu)), cache_(gpu.name + ", described") {}

  std::string_view name() const override { return "cuda"; }
  std::string library() const override { return "cuDNN " + cuda_info().versions.at("cuDNN"); }
  DType preferred_low_precision() const override { return DType::f16; }

  std::unique_ptr<Kernel> make_kernel(const KernelContext& context) override {
    const CudaKernelFactory factory = find_kernel(context.op.kernel());
    if (factory == nullptr) fail("the CUDA backend has no kernel for {}", context.op.type());
    try {
      return factory(context, device_);
    } catch (const Error&) {
      return std::make_unique<UnmadeKernel>();
    }
  }

  OptionEffects effects(const KernelOptions& options, std::span<const KernelRecord> kernels) const override {
    return option_effects(options, kernels);
  }
  SearchCache& search_cache() override { return cache_; }

  CompiledPlans compiled() const override {
    CompiledPlans compiled{device_.properties().name, folder_,
                           static_cast<std::int64_t>(device_.planned_graphs().by_problem.size())};
    for (const auto& file : std::filesystem::directory_iterator(folder_)) {
      compiled.bytes += static_cast<std::int64_t>(file.file_size());
    }
    return compiled;
  }

  void* allocate(std::size_t) override { refuse(); }
  void release(void*, std::size_t) override {}
  std::size_t available_memory() const override { return 0; }
  void copy_to_device(void*, const void*, std::size_t) override { refuse(); }
  void copy_to_host(void*, const void*, std::size_t) override { refuse(); }
  void synchronize() override {}
  bool host_reads_device() const override { return false; }

 private:
  std::filesystem::path folder_;
  Device device_;
  SearchCache cache_;  // nothing is searched
};

}  // namespace

std::unique_ptr<PlanCompiler> make_plan_compiler(const std::string& description, const std::filesystem::path& folder) {
  return std::make_unique<DescribedGpu>(parse_gpu_description(description), folder);
}

}  // namespace ptrain::cuda
