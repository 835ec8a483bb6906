#include "core/cpu/cpu_backend.h"

#include "core/base/counted.h"
#include "core/base/errors.h"
#include "core/base/host_name.h"
#include "core/base/parallel.h"
#include "core/cpu/cpu_kernel_registry.h"
#include "core/cpu/host_memory.h"
#include "core/cpu/onednn/int8_work.h"

#include <oneapi/dnnl/dnnl.h>

#include <map>
#include <mutex>

namespace ptrain::cpu {
namespace {

#define PTRAIN_TEXT_OF(words) #words
#define PTRAIN_TEXT(words) PTRAIN_TEXT_OF(words)
/// The instruction set that this backend's kernels are compiled for.
constexpr const char* own_kernels = PTRAIN_TEXT(PTRAIN_CPU_VARIANT);

std::string onednn_version() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}", v->major, v->minor, v->patch);
}

class CpuKernels final : public KernelLibrary {
 public:
  std::unique_ptr<Kernel> make_kernel(const KernelContext& context) override {
    const KernelFactory factory = find_kernel(context.op.kernel());
    if (factory == nullptr) fail("the CPU backend has no kernel for {}", context.op.type());
    return factory(context);
  }

  /// Choices are valid for a processor, a oneDNN version with its instruction set limit, these kernels and a thread
  /// count.
  SearchCache& search_cache() override {
    const std::lock_guard lock(cache_mutex_);
    auto& cache = caches_[thread_count()];
    if (cache == nullptr) {
      cache = std::make_unique<SearchCache>(fmt::format("{}, {} with {}, own kernels for {}, {}", processor_name(),
                                                        onednn_version(), instruction_set(), own_kernels,
                                                        counted(thread_count(), "thread")));
    }
    return *cache;
  }

  OptionEffects effects(const KernelOptions& options, std::span<const KernelRecord> /*kernels*/) const override {
    return {{options.exhaustive_search,
             options.exhaustive_search ? "times oneDNN's candidate implementations on the CPU" : ""},
            {false, "has no effect on the CPU"},
            {0, "no limit is applied on the CPU: the memory plan counts the workspace instead"},
            {false, options.fp8 ? "the CPU has no products in FP8" : ""}};
  }

  DType preferred_low_precision() const override { return DType::bf16; }

  bool reads_block_weights() const override { return true; }
  Int8Arithmetic int8_arithmetic() const override {
    if (DNNL_VERSION_MAJOR < 3) return Int8Arithmetic::none;
    return has_int8_instructions() ? Int8Arithmetic::exact : Int8Arithmetic::saturating;
  }

  bool syncs_batch_norm() const override { return true; }

 private:
  std::mutex cache_mutex_;
  std::map<int, std::unique_ptr<SearchCache>> caches_;  // by thread count
};

class CpuInstruments final : public Instruments {
 public:
  std::function<void()> int8_product(const ProductSize& size) const override { return make_int8_product(size); }
  std::function<void()> int8_convolution(const ConvolutionSize& size) const override {
    return make_int8_convolution(size);
  }
};

class CpuBackend final : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  std::string library() const override { return onednn_version(); }
  BackendInfo info() const override { return {{}, {{own_kernels_entry, own_kernels}}, {}}; }

  DeviceMemory& memory() override { return memory_; }
  Stream& stream() override { return stream_; }
  KernelLibrary& kernels() override { return kernels_; }
  const Instruments& instruments() override { return instruments_; }

 private:
  HostMemory memory_;
  Stream stream_;
  CpuKernels kernels_;
  CpuInstruments instruments_;
};

}  // namespace

std::unique_ptr<Backend> make_own_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace ptrain::cpu
