#include "core/passes/gather_sparse_gradients.h"

#include "core/ops/elementwise.h"
#include "core/ops/sparse/sparse_gradient.h"
#include "core/ops/tensor/reshape.h"
#include "core/ops/training/all_reduce.h"
#include "core/passes/rewriter.h"

namespace ptrain {
namespace {

class GatherPass {
 public:
  GatherPass(const Differentiated& differentiated, const DistributionOptions& options)
      : differentiated_(differentiated), options_(options), rewriter_(differentiated.graph) {}

  Differentiated run() {
    for (const Node& node : differentiated_.graph.nodes()) {
      if (node.op->type() == "sparse_gradient") {
        gathered_.push_back(gather(node));
      } else {
        rewriter_.copy(node);
      }
    }
    if (!waited_.empty()) {
      to().add_node("gather_tables.wait", std::make_shared<AllReduceWait>(), waited_, Pass::backward);
    }
    for (Gathered& gathered : gathered_) rewriter_.copy(*gathered.node, std::move(gathered.inputs));
    return rewriter_.finish(differentiated_.gradients);
  }

 private:
  /// A node and its inputs of all ranks.
  struct Gathered {
    const Node* node;
    std::vector<ValueId> inputs;
  };

  Graph& to() { return rewriter_.graph(); }

  Gathered gather(const Node& node) {
    const ValueId ids = rewriter_.mapped(node.inputs[SparseGradient::ids]);
    const ValueId dy = rewriter_.mapped(node.inputs[SparseGradient::dy]);
    // The mean over ranks; gradients that are summed in a fixed order are scaled for it from the start.
    const float factor = options_.reproducible ? 1.0f : 1.0f / static_cast<float>(options_.world_size);
    return {&node,
            {gather(node.name + ".ids", ids, std::make_shared<Reshape>(to().desc(ids).shape)),
             gather(node.name + ".dy", dy, std::make_shared<Scale>(factor))}};
  }

  /// What all ranks have of a value, one after the other; `copy` writes this rank's part.
  ValueId gather(const std::string& name, ValueId own, OpPtr copy) {
    const TensorDesc desc = to().desc(own);
    std::vector<std::int64_t> dims = desc.shape.dims();
    dims.front() *= options_.world_size;
    const ValueId all = to().add_state(flat::gathered + name, {desc.dtype, Shape(std::move(dims))});
    const ValueId part = to().add(name + ".own", std::move(copy), {own}, Pass::backward);
    to().value(part).base = all;
    to().value(part).byte_offset = static_cast<std::int64_t>(desc.bytes()) * options_.rank;
    to().add_node(name + ".gather", std::make_shared<AllGatherStart>(), {all}, Pass::backward);
    waited_.push_back(all);
    return all;
  }

  const Differentiated& differentiated_;
  const DistributionOptions& options_;
  Rewriter rewriter_;
  std::vector<Gathered> gathered_;
  std::vector<ValueId> waited_;
};

}  // namespace

Differentiated gather_sparse_gradients(const Differentiated& differentiated, const DistributionOptions& options) {
  return GatherPass(differentiated, options).run();
}

}  // namespace ptrain
