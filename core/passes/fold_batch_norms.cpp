#include "core/passes/fold_batch_norms.h"

#include "core/base/errors.h"
#include "core/ops/image/conv2d.h"
#include "core/ops/normalization/batch_norm.h"
#include "core/passes/rewriter.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace ptrain {
namespace {

class Folder {
 public:
  explicit Folder(const Graph& graph) : graph_(graph), rewriter_(graph), readers_(count_readers(graph)) {}

  FoldedGraph run() {
    for (const Node& node : graph_.nodes()) {
      if (const Node* conv = folded_convolution(node)) folded_.insert(conv);
    }
    for (const Node& node : graph_.nodes()) {
      if (folded_.contains(&node)) continue;
      if (const Node* conv = folded_convolution(node)) {
        emit(*conv, node);
      } else {
        rewriter_.copy(node);
      }
    }
    return {rewriter_.finish(), std::move(norms_)};
  }

 private:
  /// The convolution that `node`, if it is a batch norm at inference, can be folded into.
  const Node* folded_convolution(const Node& node) const {
    if (node.op->type() != "batch_norm" || static_cast<const BatchNorm&>(*node.op).attrs().training) return nullptr;
    const Node* conv = sole_producer(graph_, readers_, node.inputs[BatchNorm::x]);
    if (conv == nullptr || conv->op->type() != "conv2d" || conv->inputs.size() > Conv2d::residual) return nullptr;
    const bool plain = static_cast<const Conv2d&>(*conv->op).activation() == Activation::none;
    const bool constant = std::all_of(conv->inputs.begin() + Conv2d::w, conv->inputs.end(),
                                      [&](ValueId id) { return graph_.value(id).storage == Storage::parameter; });
    return plain && constant ? conv : nullptr;
  }

  void emit(const Node& conv, const Node& norm) {
    const auto& attrs = static_cast<const BatchNorm&>(*norm.op).attrs();
    const auto name = [&](int input) { return graph_.value(norm.inputs[static_cast<std::size_t>(input)]).name; };
    const ValueId filters = conv.inputs[Conv2d::w];
    const std::string bias = conv.inputs.size() > Conv2d::bias ? graph_.value(conv.inputs[Conv2d::bias]).name : "";
    norms_.push_back({graph_.value(filters).name, bias, name(BatchNorm::gamma), name(BatchNorm::beta),
                      name(BatchNorm::running_mean), name(BatchNorm::running_var), attrs.epsilon,
                      conv.name + ".folded_filters", conv.name + ".folded_bias"});
    Graph& to = rewriter_.graph();
    const Shape& shape = graph_.desc(filters).shape;
    std::vector<ValueId> inputs{rewriter_.mapped(conv.inputs[Conv2d::x]),
                                to.add_parameter(norms_.back().folded_filters, shape),
                                to.add_parameter(norms_.back().folded_bias, Shape{shape[0]})};
    if (norm.inputs.size() > BatchNorm::residual) inputs.push_back(rewriter_.mapped(norm.inputs[BatchNorm::residual]));
    const auto op = std::make_shared<Conv2d>(static_cast<const Conv2d&>(*conv.op).attrs(), attrs.activation);
    rewriter_.map(norm.outputs.front(), to.add(conv.name, op, std::move(inputs), norm.phase));
  }

  const Graph& graph_;
  Rewriter rewriter_;
  std::vector<int> readers_;
  std::set<const Node*> folded_;
  std::vector<FoldedNorm> norms_;
};

}  // namespace

FoldedGraph fold_batch_norms(const Graph& graph) { return Folder(graph).run(); }

std::vector<float> fold_norm(const NormValues& norm, std::span<float> filters) {
  const std::size_t channels = norm.gamma.size(), each = filters.size() / channels;
  invariant(each * channels == filters.size(), "filters do not fit the norm after them");
  std::vector<float> bias(channels);
  for (std::size_t k = 0; k < channels; ++k) {
    const double deviation = std::sqrt(static_cast<double>(norm.variance[k]) + static_cast<double>(norm.epsilon));
    const double factor = static_cast<double>(norm.gamma[k]) / deviation;
    for (float& value : filters.subspan(k * each, each))
      value = static_cast<float>(factor * static_cast<double>(value));
    const double before = norm.bias.empty() ? 0.0 : static_cast<double>(norm.bias[k]);
    bias[k] =
        static_cast<float>(static_cast<double>(norm.beta[k]) + factor * (before - static_cast<double>(norm.mean[k])));
  }
  return bias;
}

}  // namespace ptrain
