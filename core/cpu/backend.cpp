#include "core/cpu/backend.h"

#include "core/base/counted.h"
#include "core/base/errors.h"
#include "core/base/host_name.h"
#include "core/base/machine_memory.h"
#include "core/base/parallel.h"
#include "core/cpu/onednn/int8_work.h"
#include "core/cpu/registry.h"

#include <oneapi/dnnl/dnnl.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace ptrain::cpu {
namespace {

#define PTRAIN_TEXT_OF(words) #words
#define PTRAIN_TEXT(words) PTRAIN_TEXT_OF(words)
/// What own kernels are compiled for.
constexpr const char* own_kernels = PTRAIN_TEXT(PTRAIN_CPU_VARIANT);

constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t mapped_size(std::size_t bytes) { return (bytes + huge_page - 1) / huge_page * huge_page; }

class CpuBackend final : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }

  std::string library() const override {
    const dnnl_version_t* v = dnnl_version();
    return fmt::format("oneDNN {}.{}.{}", v->major, v->minor, v->patch);
  }

  BackendInfo info() const override { return {{}, {{own_kernels_entry, own_kernels}}, {}}; }

  DType preferred_low_precision() const override { return DType::bf16; }

  std::unique_ptr<Kernel> make_kernel(const KernelContext& context) override {
    const KernelFactory factory = find_kernel(context.op.kernel());
    if (factory == nullptr) fail("the CPU backend has no kernel for {}", context.op.type());
    return factory(context);
  }

  std::function<void()> int8_product(const ProductSize& size) override { return make_int8_product(size); }
  std::function<void()> int8_convolution(const ConvolutionSize& size) override { return make_int8_convolution(size); }

  Int8Arithmetic int8_arithmetic() const override {
    if (DNNL_VERSION_MAJOR < 3) return Int8Arithmetic::none;
    return has_int8_instructions() ? Int8Arithmetic::exact : Int8Arithmetic::saturating;
  }

  bool syncs_batch_norm() const override { return true; }

  OptionEffects effects(const KernelOptions& options, std::span<const KernelRecord> /*kernels*/) const override {
    return {{options.exhaustive_search,
             options.exhaustive_search ? "times oneDNN's candidate implementations on the CPU" : ""},
            {false, "has no meaning on the CPU"},
            {0, "no limit is applied on the CPU: the memory plan counts the workspace instead"}};
  }

  /// Choices hold for a processor, a oneDNN with its cap on instruction sets, own kernels and a number of threads.
  SearchCache& search_cache() override {
    const std::lock_guard lock(cache_mutex_);
    auto& cache = caches_[thread_count()];
    if (cache == nullptr) {
      cache = std::make_unique<SearchCache>(fmt::format("{}, {} with {}, own kernels for {}, {}", processor_name(),
                                                        library(), instruction_set(), own_kernels,
                                                        counted(thread_count(), "thread")));
    }
    return *cache;
  }

  /// Large buffers are mapped on huge pages where the system grants them: fewer page faults and TLB misses.
  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    if (bytes < huge_page) {
      memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
      if (memory != nullptr) std::memset(memory, 0, bytes);
    } else {
      memory = mmap(nullptr, mapped_size(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) memory = nullptr;
      if (memory != nullptr) madvise(memory, mapped_size(bytes), MADV_HUGEPAGE);
    }
    if (memory == nullptr) throw OutOfMemory(fmt::format("out of memory: cannot allocate {} MiB", bytes >> 20));
    return memory;
  }

  void release(void* memory, std::size_t bytes) override {
    if (bytes < huge_page) {
      std::free(memory);
    } else {
      munmap(memory, mapped_size(bytes));
    }
  }

  std::size_t available_memory() const override { return static_cast<std::size_t>(available_memory_bytes()); }

  void copy_to_device(void* device, const void* host, std::size_t bytes) override { std::memcpy(device, host, bytes); }
  void copy_to_host(void* host, const void* device, std::size_t bytes) override { std::memcpy(host, device, bytes); }
  void synchronize() override {}
  bool host_reads_device() const override { return true; }

 private:
  std::mutex cache_mutex_;
  std::map<int, std::unique_ptr<SearchCache>> caches_;  // by thread count
};

}  // namespace

std::unique_ptr<Backend> make_own_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace ptrain::cpu
