// One op with its own memory, for timing or to keep a device under load.
#pragma once

#include "core/exec/backend.h"

namespace ptrain {

class BenchmarkOp {
 public:
  /// Inputs hold benchmark_values(). Throws Error where `backend` cannot run `op`; null `cache`: see KernelContext.
  BenchmarkOp(Backend& backend, OpPtr op, std::vector<TensorDesc> inputs, const KernelOptions& options,
              SearchCache* cache = nullptr);

  void run() { kernel_->run({in_, out_, workspace_.data()}); }
  Cost cost() const { return op_->cost(inputs_, outputs_); }
  /// Hash of the bytes of the first output; waits for it.
  std::uint64_t checksum();

 private:
  void* take(const TensorDesc& desc);

  DeviceMemory& memory_;
  OpPtr op_;
  std::vector<TensorDesc> inputs_, outputs_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<void*> in_, out_;
  DeviceBuffer workspace_;
};

/// A matrix product or a convolution of that size, ready to be timed; `cache` as KernelContext has it.
std::unique_ptr<BenchmarkOp> make_product(Backend& backend, DType dtype, const ProductSize& size,
                                          const KernelOptions& options, SearchCache* cache = nullptr);
std::unique_ptr<BenchmarkOp> make_convolution(Backend& backend, DType dtype, const ConvolutionSize& size,
                                              const KernelOptions& options);
/// A sum of two fp32 tensors of `count` elements.
std::unique_ptr<BenchmarkOp> make_addition(Backend& backend, std::int64_t count, const KernelOptions& options);

}  // namespace ptrain
