// Times every vision kernel at ResNet-50's shapes: bench_vision [batch] [pixels] [f32|bf16|f16] [search: 0|1] [op]
// Prints the best of several runs per kernel, its rate, and the sum over a training step.
#include "core/cpu/cpu_kernel_registry.h"
#include "core/ops/image/conv2d.h"
#include "core/ops/image/max_pool2d.h"
#include "core/ops/normalization/batch_norm.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>

namespace ptrain {
namespace {

struct Buffer {
  explicit Buffer(std::size_t bytes)
      : memory(std::aligned_alloc(64, (bytes + 64) / 64 * 64), [](void* p) { std::free(p); }) {
    std::memset(memory.get(), 0, bytes);
  }
  std::shared_ptr<void> memory;
};

class Bench {
 public:
  Bench(bool search, std::string only) : search_(search), only_(std::move(only)) {}

  /// Times `op` on absent-or-zero inputs; it occurs `times` in a step.
  void add(const Op& op, const std::vector<TensorDesc>& inputs, int times) {
    if (!only_.empty() && op.type() != only_) return;
    const std::vector<TensorDesc> outputs = op.infer(inputs);
    const auto kernel = cpu::find_kernel(op.type())({op, inputs, outputs, {.exhaustive_search = search_}});
    std::vector<Buffer> buffers;
    std::vector<void*> in, out;
    const auto allocate = [&](const TensorDesc& desc, std::vector<void*>& list) {
      if (is_absent(desc)) return list.push_back(nullptr);
      buffers.emplace_back(desc.bytes());
      list.push_back(buffers.back().memory.get());
    };
    for (const TensorDesc& desc : inputs) allocate(desc, in);
    for (const TensorDesc& desc : outputs) allocate(desc, out);
    const Buffer workspace(kernel->workspace_bytes());
    const KernelArgs args{in, out, workspace.memory.get()};
    double best = 1e9, spent = 0;
    for (int i = 0; i < 60 && (i < 5 || spent < 0.6); ++i) {
      const auto start = std::chrono::steady_clock::now();
      kernel->run(args);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      best = std::min(best, seconds);
      spent += seconds;
    }
    const Cost cost = op.cost(inputs, outputs);
    fmt::print("{:18} x{} {:22} {:22} {:8.3f} ms {:7.0f} GFLOP/s {:6.1f} GB/s  {}\n", op.type(), times,
               inputs[0].to_string(), inputs.back().to_string(), best * 1e3, cost.flops / best * 1e-9,
               cost.bytes / best * 1e-9, kernel->record().implementation);
    std::fflush(stdout);
    totals_[std::string(op.type())] += best * times;
    flops_[std::string(op.type())] += cost.flops * times;
  }

  void print_totals() const {
    double all = 0;
    for (const auto& [type, seconds] : totals_) {
      fmt::print("{:18} {:8.1f} ms a step {:7.0f} GFLOP/s\n", type, seconds * 1e3, flops_.at(type) / seconds * 1e-9);
      all += seconds;
    }
    fmt::print("all                {:8.1f} ms a step\n", all * 1e3);
  }

 private:
  bool search_;
  std::string only_;
  std::map<std::string, double> totals_, flops_;
};

struct ResNet50 {
  Bench& bench;
  std::int64_t batch;
  DType dtype;

  Shape conv(const Shape& x, std::int64_t filters, std::int64_t kernel, int stride, int times, bool first = false) {
    const Conv2dAttributes attrs{.stride = stride, .padding = static_cast<int>(kernel / 2)};
    const TensorDesc w{DType::f32, {filters, kernel, kernel, x[3]}}, data{dtype, x};
    const Conv2d op(attrs);
    const TensorDesc y = op.infer(std::vector{data, w})[0];
    bench.add(op, {data, w}, times);
    if (!first) bench.add(Conv2dGradInput({attrs, x}), {y, w}, times);
    bench.add(Conv2dGradWeight({attrs, w}), {data, y}, times);
    return y.shape;
  }

  void norm(const Shape& shape, bool relu, bool residual, int times) {
    const TensorDesc x{dtype, shape}, c{DType::f32, {shape[3]}};
    const Activation activation = relu ? Activation::relu : Activation::none;
    bench.add(BatchNorm({.activation = activation}), {x, c, c, c, c, residual ? x : absent_input()}, times);
    bench.add(BatchNormGrad({activation, residual}), {x, x, c, c, c, c, residual ? mask_desc(x) : absent_input()},
              times);
  }

  void run(std::int64_t pixels) {
    Shape x = conv({batch, pixels, pixels, 4}, 64, 7, 2, 1, true);
    norm(x, true, false, 1);
    const MaxPool2dAttributes pool{3, 2, 1};
    const MaxPool2d op(pool);
    const auto pooled = op.infer(std::vector{TensorDesc{dtype, x}});
    bench.add(op, {{dtype, x}}, 1);
    bench.add(MaxPool2dGrad({pool, x}), pooled, 1);
    x = pooled[0].shape;
    const int depths[] = {3, 4, 6, 3};
    for (int stage = 0; stage < 4; ++stage) {
      const std::int64_t width = std::int64_t{64} << stage;
      const int stride = stage == 0 ? 1 : 2, rest = depths[stage] - 1;
      norm(conv(x, width, 1, 1, 1), true, false, 1);
      const Shape wide = {x[0], x[1], x[2], width};
      const Shape narrow = conv(wide, width, 3, stride, 1);
      norm(narrow, true, false, 1 + 2 * rest);
      const Shape y = conv(narrow, 4 * width, 1, 1, 1 + rest);
      norm(y, true, true, 1 + rest);
      conv(x, 4 * width, 1, stride, 1);
      norm(y, false, false, 1);
      conv(y, width, 1, 1, rest);
      conv(narrow, width, 3, 1, rest);
      x = y;
    }
  }
};

}  // namespace
}  // namespace ptrain

int main(int argc, char** argv) {
  using namespace ptrain;
  const auto argument = [&](int i, const char* fallback) { return std::string(i < argc ? argv[i] : fallback); };
  Bench bench(argument(4, "1") == "1", argument(5, ""));
  ResNet50{bench, std::stol(argument(1, "16")), dtype_from_name(argument(3, "f32"))}.run(std::stol(argument(2, "224")));
  bench.print_totals();
}
