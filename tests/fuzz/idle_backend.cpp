// Stands for the CPU's backend: answers are zeros, since arithmetic is no part of what is fuzzed.
#include "core/base/errors.h"
#include "core/cpu/cpu_backend.h"

#include <cstdlib>
#include <cstring>

namespace ptrain::cpu {
namespace {

class IdleKernel final : public Kernel {
 public:
  explicit IdleKernel(const KernelContext& context) : outputs_(context.outputs.begin(), context.outputs.end()) {}

  void run(const KernelArgs& args) override {
    for (std::size_t i = 0; i < outputs_.size(); ++i) std::memset(args.outputs[i], 0, outputs_[i].bytes());
  }

 private:
  std::vector<TensorDesc> outputs_;
};

class IdleKernels final : public KernelLibrary {
 public:
  std::unique_ptr<Kernel> make_kernel(const KernelContext& context) override {
    return std::make_unique<IdleKernel>(context);
  }
  SearchCache& search_cache() override { return cache_; }
  OptionEffects effects(const KernelOptions&, std::span<const KernelRecord>) const override { return {}; }
  DType preferred_low_precision() const override { return DType::bf16; }
  Int8Arithmetic int8_arithmetic() const override { return Int8Arithmetic::exact; }

 private:
  SearchCache cache_{"no device"};  // nothing is searched
};

class PlainMemory final : public DeviceMemory {
 public:
  void* allocate(std::size_t bytes) override {
    void* memory = std::calloc(bytes, 1);
    if (memory == nullptr) throw OutOfMemory("out of memory");
    return memory;
  }
  void release(void* memory, std::size_t) override { std::free(memory); }
  std::size_t available() const override { return std::size_t{1} << 40; }
  void copy_to_device(void* device, const void* host, std::size_t bytes) override { std::memcpy(device, host, bytes); }
  void copy_to_host(void* host, const void* device, std::size_t bytes) override { std::memcpy(host, device, bytes); }
  bool host_reads_device() const override { return true; }
};

class IdleBackend final : public Backend {
 public:
  std::string_view name() const override { return "idle"; }
  std::string library() const override { return "none"; }
  DeviceMemory& memory() override { return memory_; }
  Stream& stream() override { return stream_; }
  KernelLibrary& kernels() override { return kernels_; }
  const Instruments& instruments() override { return instruments_; }

 private:
  PlainMemory memory_;
  Stream stream_;
  IdleKernels kernels_;
  Instruments instruments_;
};

}  // namespace

std::unique_ptr<Backend> make_backend() { return std::make_unique<IdleBackend>(); }

}  // namespace ptrain::cpu
