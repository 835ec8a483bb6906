#include "core/passes/merge_convolutions.h"

#include "core/base/errors.h"
#include "core/ops/image/conv2d.h"
#include "core/ops/tensor/binary.h"
#include "core/passes/rewriter.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace ptrain {
namespace {

/// A summand: a convolution, and what multiplies its result.
struct Branch {
  const Node* conv = nullptr;
  const Node* product = nullptr;  // null: nothing does
  ValueId scale = no_value;
};

class ConvolutionMerger {
 public:
  explicit ConvolutionMerger(const Graph& graph) : graph_(graph), rewriter_(graph), readers_(count_readers(graph)) {}

  MergedGraph run() {
    for (const Node& node : graph_.nodes()) {
      const auto pair = find_pair(node);
      if (!pair) continue;
      pairs_.emplace(&node, *pair);
      for (const Branch& branch : *pair) merged_.insert({branch.conv, branch.product});
    }
    for (const Node& node : graph_.nodes()) {
      if (merged_.contains(&node)) continue;
      if (const auto found = pairs_.find(&node); found != pairs_.end()) {
        emit(node, found->second);
      } else {
        rewriter_.copy(node);
      }
    }
    return {rewriter_.finish(), std::move(convolutions_)};
  }

 private:
  using Pair = std::array<Branch, 2>;

  static const Conv2d& op(const Branch& branch) { return static_cast<const Conv2d&>(*branch.conv->op); }
  const Shape& filter_shape(const Branch& branch) const { return graph_.desc(branch.conv->inputs[Conv2d::w]).shape; }
  const std::string& name(ValueId id) const { return graph_.value(id).name; }

  /// The two convolutions that `node`, if it is a sum, can be merged into, the one with the larger filters first.
  std::optional<Pair> find_pair(const Node& node) const {
    if (node.op->type() != "add") return std::nullopt;
    Pair pair{find_branch(node.inputs[0]), find_branch(node.inputs[1])};
    if (pair[0].conv == nullptr || pair[1].conv == nullptr) return std::nullopt;
    if (filter_shape(pair[0])[1] < filter_shape(pair[1])[1]) std::swap(pair[0], pair[1]);
    return fit_together(pair[0], pair[1]) ? std::optional(pair) : std::nullopt;
  }

  /// Without a convolution where the value is no such summand.
  Branch find_branch(ValueId id) const {
    Branch branch;
    const Node* node = sole_producer(graph_, readers_, id);
    if (node != nullptr && node->op->type() == get_traits(BinaryFunction::mul).type) {
      const std::size_t side = is_number(node->inputs[Binary::b]) ? Binary::b : Binary::a;
      branch.product = node;
      branch.scale = node->inputs[side];
      node = is_number(branch.scale) ? sole_producer(graph_, readers_, node->inputs[1 - side]) : nullptr;
    }
    if (node != nullptr && is_mergeable(*node)) branch.conv = node;
    return branch;
  }

  bool is_number(ValueId id) const {
    const Value& value = graph_.value(id);
    return value.storage == Storage::parameter && value.desc.shape.count() == 1;
  }

  bool is_mergeable(const Node& node) const {
    if (node.op->type() != "conv2d" || node.inputs.size() > Conv2d::residual) return false;
    const auto& conv = static_cast<const Conv2d&>(*node.op);
    return conv.activation() == Activation::none && conv.attrs().dilation == 1 &&
           std::all_of(node.inputs.begin() + Conv2d::w, node.inputs.end(),
                       [&](ValueId id) { return graph_.value(id).storage == Storage::parameter; });
  }

  bool fit_together(const Branch& large, const Branch& small) const {
    const Conv2dAttributes &a = op(large).attrs(), &b = op(small).attrs();
    const Shape &whole = filter_shape(large), &part = filter_shape(small);
    const std::int64_t margin = a.padding - b.padding;
    return large.conv->inputs[Conv2d::x] == small.conv->inputs[Conv2d::x] && a.stride == b.stride &&
           a.groups == b.groups && margin >= 0 && whole[1] - part[1] == 2 * margin && whole[2] - part[2] == 2 * margin;
  }

  MergedConvolution::Part make_part(const Branch& branch) const {
    const std::vector<ValueId>& inputs = branch.conv->inputs;
    return {name(inputs[Conv2d::w]), filter_shape(branch),
            inputs.size() > Conv2d::bias ? name(inputs[Conv2d::bias]) : "",
            branch.product != nullptr ? name(branch.scale) : ""};
  }

  void emit(const Node& sum, const Pair& pair) {
    const Node& large = *pair.front().conv;
    const Shape& shape = filter_shape(pair.front());
    convolutions_.push_back(
        {{make_part(pair[0]), make_part(pair[1])}, large.name + ".merged_filters", large.name + ".merged_bias"});
    Graph& to = rewriter_.graph();
    const ValueId filters = to.add_parameter(convolutions_.back().filters, shape);
    const ValueId bias = to.add_parameter(convolutions_.back().bias, Shape{shape[0]});
    rewriter_.map(sum.outputs.front(),
                  to.add(large.name, large.op, {rewriter_.mapped(large.inputs[Conv2d::x]), filters, bias}, sum.phase));
  }

  const Graph& graph_;
  Rewriter rewriter_;
  std::vector<int> readers_;
  std::map<const Node*, Pair> pairs_;  // by the node that adds them
  std::set<const Node*> merged_;
  std::vector<MergedConvolution> convolutions_;
};

}  // namespace

MergedGraph merge_convolutions(const Graph& graph) { return ConvolutionMerger(graph).run(); }

void add_convolution(const ConvolutionValues& values, const Shape& part, const Shape& whole, std::span<float> filters,
                     std::span<float> bias) {
  invariant(part[0] == whole[0] && part[3] == whole[3], "filters do not fit those that they are merged into");
  const auto add = [scale = static_cast<double>(values.scale)](float& sum, float value) {
    sum = static_cast<float>(static_cast<double>(sum) + scale * static_cast<double>(value));
  };
  for (std::size_t k = 0; k < values.bias.size(); ++k) add(bias[k], values.bias[k]);
  const std::int64_t top = (whole[1] - part[1]) / 2, left = (whole[2] - part[2]) / 2, row = part[2] * part[3];
  auto value = values.filters.begin();
  for (std::int64_t k = 0; k < part[0]; ++k) {
    for (std::int64_t y = 0; y < part[1]; ++y) {
      const std::int64_t first = ((k * whole[1] + top + y) * whole[2] + left) * whole[3];
      for (float& sum : filters.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(row))) {
        add(sum, *value++);
      }
    }
  }
}

}  // namespace ptrain
