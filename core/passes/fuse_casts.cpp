#include "core/passes/fuse_casts.h"

#include "core/ops/elementwise.h"
#include "core/ops/image/normalize_image.h"
#include "core/ops/normalization/dropout_add_layer_norm.h"
#include "core/passes/rewriter.h"

#include <map>

namespace ptrain {
namespace {

using AddNorm = DropoutAddLayerNorm;

class CastFuser {
 public:
  explicit CastFuser(const Graph& graph) : graph_(graph), rewriter_(graph), readers_(count_readers(graph)) {}

  Graph run() {
    for (const Node& node : graph_.nodes()) find(node);
    for (const Node& node : graph_.nodes()) emit(node);
    return rewriter_.finish();
  }

 private:
  /// The node's op if it is a norm that computes in fp32, else null.
  const AddNorm* fp32_norm(const Node& node) const {
    const auto* norm = dynamic_cast<const AddNorm*>(node.op.get());
    return norm != nullptr && graph_.desc(node.inputs[AddNorm::residual]).dtype == DType::f32 ? norm : nullptr;
  }

  /// The low-precision source of `value` if it was cast up; else no_value.
  ValueId low_source(ValueId value) const {
    const NodeId producer = graph_.value(value).producer;
    if (producer < 0 || graph_.node(producer).op->type() != "cast") return no_value;
    const ValueId source = graph_.node(producer).inputs[0];
    return is_low_precision(graph_.desc(source).dtype) ? source : no_value;
  }

  void find(const Node& node) {
    if (fp32_norm(node) != nullptr) {
      const ValueId x = node.inputs[AddNorm::x];
      if (low_source(x) != no_value) --readers_[static_cast<std::size_t>(x)];
    } else if (const auto* cast = dynamic_cast<const Cast*>(node.op.get())) {
      const NodeId producer = graph_.value(node.inputs[0]).producer;
      if (producer < 0 || !is_low_precision(cast->dtype())) return;
      const Node& source = graph_.node(producer);
      const bool alone = readers_[static_cast<std::size_t>(node.inputs[0])] == 1;
      const bool writes_both = fp32_norm(source) != nullptr && source.outputs[AddNorm::y] == node.inputs[0];
      if (writes_both || (alone && pixels(source) != nullptr)) low_y_[&source] = &node;
    }
  }

  static const NormalizeImage* pixels(const Node& node) { return dynamic_cast<const NormalizeImage*>(node.op.get()); }

  void emit(const Node& node) {
    if (const AddNorm* norm = fp32_norm(node)) return emit_norm(node, *norm);
    if (pixels(node) != nullptr && low_y_.contains(&node)) return emit_pixels(node, *pixels(node));
    const bool was_cast = node.op->type() == "cast";
    if (was_cast && rewriter_.mapped(node.outputs[0]) != no_value) return;             // its source writes it
    if (was_cast && readers_[static_cast<std::size_t>(node.outputs[0])] == 0) return;  // norms read its source
    rewriter_.copy(node);
  }

  void emit_norm(const Node& node, const AddNorm& norm) {
    AddNorm::Attributes attributes = norm.attrs();
    std::vector<ValueId> inputs = rewriter_.mapped(node.inputs);
    if (const ValueId x = low_source(node.inputs[AddNorm::x]); x != no_value) inputs[AddNorm::x] = rewriter_.mapped(x);
    const auto down = low_y_.find(&node);
    if (down != low_y_.end()) attributes.low = graph_.desc(down->second->outputs[0]).dtype;
    const std::vector<ValueId> outputs =
        rewriter_.graph().add_node(node.name, std::make_shared<AddNorm>(attributes), std::move(inputs), node.phase);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) rewriter_.map(node.outputs[i], outputs[i]);
    if (down != low_y_.end()) rewriter_.map(down->second->outputs[0], outputs[AddNorm::y_low]);
  }

  void emit_pixels(const Node& node, const NormalizeImage& op) {
    const ValueId low = low_y_.at(&node)->outputs[0];
    NormalizeImage::Attributes attributes = op.attrs();
    attributes.dtype = graph_.desc(low).dtype;
    rewriter_.map(low, rewriter_.graph().add(node.name, std::make_shared<NormalizeImage>(attributes),
                                             rewriter_.mapped(node.inputs), node.phase));
  }

  const Graph& graph_;
  Rewriter rewriter_;
  std::vector<int> readers_;                  // by value: number of later readers of the value itself
  std::map<const Node*, const Node*> low_y_;  // the cast of a norm's y, or of normalised pixels
};

}  // namespace

Graph fuse_casts(const Graph& graph) { return CastFuser(graph).run(); }

}  // namespace ptrain
