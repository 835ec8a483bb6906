#include "core/exec/peak.h"

#include "core/base/clock.h"
#include "core/ops/linear.h"

#include <algorithm>
#include <array>

namespace ptrain {

double measure_peak_flops(Backend& backend, DType dtype) {
  constexpr std::int64_t rows = 4096, width = 1024;
  constexpr double enough_seconds = 0.1;
  constexpr int least_runs = 4;
  const Linear op;
  const std::array<TensorDesc, 3> inputs{TensorDesc{dtype, Shape{rows, width}}, TensorDesc{dtype, Shape{width, width}},
                                         absent_input()};
  const std::array<TensorDesc, 1> outputs{TensorDesc{dtype, Shape{rows, width}}};
  const auto kernel = backend.make_kernel({op, inputs, outputs, {}, &backend.search_cache()});
  const DeviceBuffer x(backend, inputs[0].bytes()), w(backend, inputs[1].bytes()), y(backend, outputs[0].bytes());
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
  return op.cost(inputs, outputs).flops / best;
}

}  // namespace ptrain
