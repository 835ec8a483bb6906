#include "core/exec/benchmark_op.h"

#include "core/base/hash.h"
#include "core/exec/kernel_timing.h"
#include "core/ops/elementwise.h"
#include "core/ops/image/conv2d.h"
#include "core/ops/linear.h"

namespace ptrain {

BenchmarkOp::BenchmarkOp(Backend& backend, OpPtr op, std::vector<TensorDesc> inputs, const KernelOptions& options,
                         SearchCache* cache)
    : memory_(backend.memory()), op_(std::move(op)), inputs_(std::move(inputs)), outputs_(op_->infer(inputs_)) {
  kernel_ = backend.kernels().make_kernel({*op_, inputs_, outputs_, options, cache});
  for (const TensorDesc& desc : inputs_) in_.push_back(take(desc));
  for (const TensorDesc& desc : outputs_) out_.push_back(take(desc));
  workspace_ = DeviceBuffer(memory_, kernel_->workspace_bytes());
}

std::uint64_t BenchmarkOp::checksum() {
  std::string bytes(outputs_.front().bytes(), '\0');
  memory_.copy_to_host(bytes.data(), out_.front(), bytes.size());
  return fnv1a64(bytes);
}

void* BenchmarkOp::take(const TensorDesc& desc) {
  if (is_absent(desc)) return nullptr;
  DeviceBuffer& buffer = buffers_.emplace_back(memory_, desc.bytes());
  fill_for_benchmark(memory_, buffer.data(), desc);
  return buffer.data();
}

std::unique_ptr<BenchmarkOp> make_product(Backend& backend, DType dtype, const ProductSize& size,
                                          const KernelOptions& options, SearchCache* cache) {
  return std::make_unique<BenchmarkOp>(backend, std::make_shared<Linear>(),
                                       std::vector{TensorDesc{dtype, Shape{size.rows, size.width}},
                                                   TensorDesc{dtype, Shape{size.width, size.width}}, absent_input()},
                                       options, cache);
}

std::unique_ptr<BenchmarkOp> make_convolution(Backend& backend, DType dtype, const ConvolutionSize& size,
                                              const KernelOptions& options) {
  constexpr std::int64_t kernel = 3;
  Conv2dAttributes attributes;
  attributes.padding = 1;
  return std::make_unique<BenchmarkOp>(
      backend, std::make_shared<Conv2d>(attributes),
      std::vector{TensorDesc{dtype, Shape{size.images, size.pixels, size.pixels, size.channels}},
                  TensorDesc{dtype, Shape{size.channels, kernel, kernel, size.channels}}},
      options);
}

std::unique_ptr<BenchmarkOp> make_addition(Backend& backend, std::int64_t count, const KernelOptions& options) {
  const TensorDesc desc{DType::f32, Shape{count}};
  return std::make_unique<BenchmarkOp>(backend, std::make_shared<Add>(), std::vector{desc, desc}, options);
}

}  // namespace ptrain
