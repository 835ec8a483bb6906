#include "core/exec/peak.h"

#include "core/base/clock.h"
#include "core/exec/trial.h"
#include "core/ops/linear.h"

#include <algorithm>
#include <array>

namespace ptrain {
namespace {

struct Product {
  double flops;
  double seconds;  // of the fastest run
};

/// Times [4096, width] by [width, width].
Product time_product(Backend& backend, DType dtype, std::int64_t width, const KernelOptions& options) {
  constexpr std::int64_t rows = 4096;
  constexpr double enough_seconds = 0.1;
  constexpr int least_runs = 4;
  const Linear op;
  const std::array<TensorDesc, 3> inputs{TensorDesc{dtype, Shape{rows, width}}, TensorDesc{dtype, Shape{width, width}},
                                         absent_input()};
  const std::array<TensorDesc, 1> outputs{TensorDesc{dtype, Shape{rows, width}}};
  const auto kernel = backend.make_kernel({op, inputs, outputs, options, &backend.search_cache()});
  const DeviceBuffer x(backend, inputs[0].bytes()), w(backend, inputs[1].bytes()), y(backend, outputs[0].bytes());
  fill_for_trial(backend, x.data(), inputs[0]);
  fill_for_trial(backend, w.data(), inputs[1]);
  const DeviceBuffer workspace(backend, kernel->workspace_bytes());
  const std::array<void*, 3> in{x.data(), w.data(), nullptr};
  const std::array<void*, 1> out{y.data()};
  double best = 1e30;
  const Stopwatch whole;
  for (int run = 0; run < least_runs || whole.seconds() < enough_seconds; ++run) {
    const Stopwatch watch;
    kernel->run({in, out, workspace.data()});
    backend.synchronize();
    best = std::min(best, watch.seconds());
  }
  return {op.cost(inputs, outputs).flops, best};
}

}  // namespace

double measure_peak_flops(Backend& backend, DType dtype, const KernelOptions& options) {
  constexpr double long_enough = 0.5e-3;  // so that launching and waiting do not count
  constexpr std::int64_t most_width = 8192;
  std::int64_t width = 1024;
  Product product = time_product(backend, dtype, width, options);
  while (product.seconds < long_enough && width < most_width) {
    width *= 2;
    product = time_product(backend, dtype, width, options);
  }
  return product.flops / product.seconds;
}

}  // namespace ptrain
