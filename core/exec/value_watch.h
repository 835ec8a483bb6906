// Ranges of the values that plans compute, and where values that are not finite begin.
#pragma once

#include "core/graph/graph.h"

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

/// The values of one floating-point result of a node over all of its runs. fp16 holds magnitudes from 2^-24 to 65504;
/// bf16 has the range of fp32.
struct ValueRange {
  std::string tensor, op;
  Pass phase = Pass::forward;
  DType dtype = DType::f32;
  double minimum = std::numeric_limits<double>::infinity();  // of the finite values
  double maximum = -std::numeric_limits<double>::infinity();
  std::int64_t values = 0;
  std::int64_t zeros = 0;
  std::int64_t above_f16 = 0;  // finite, larger than fp16 holds
  std::int64_t below_f16 = 0;  // other than 0, smaller than fp16 holds
  std::int64_t not_finite = 0;
};

/// A value that is infinite or not a number, the first one of its pass.
struct NonFinite {
  std::int64_t step = 0;  // from 1
  Pass phase = Pass::forward;
  std::string op, tensor;
  double value = 0;
  std::string input;  // a weight or a fed tensor, read by the node, that was not finite already; empty: none
};

/// "nan in conv1 (conv2d, forward) at step 7".
std::string describe(const NonFinite& found);

/// Looks at the results of every node that a plan runs; see Plan::watch_values.
class ValueWatch {
 public:
  /// The bytes of a value in host memory, valid until the next call.
  using Read = std::function<const std::byte*(ValueId)>;

  void begin_step(std::int64_t step) { step_ = step; }
  /// Adds a node's results; called right after it ran. Updates of weights are left out, and results of which a step
  /// uses a part (leaves_results_unwritten).
  void add(const Graph& graph, const Node& node, const Read& read);

  /// In the order of a step.
  const std::vector<ValueRange>& ranges() const { return ranges_; }
  /// The first one of each pass that has any.
  const std::map<Pass, NonFinite>& not_finite() const { return not_finite_; }
  /// The earliest among the passes up to `last`.
  std::optional<NonFinite> find_first(Pass last) const;

 private:
  std::int64_t step_ = 0;
  std::vector<ValueRange> ranges_;
  std::map<std::string, std::size_t, std::less<>> places_;  // in ranges_, by tensor
  std::map<Pass, NonFinite> not_finite_;
};

}  // namespace ptrain
