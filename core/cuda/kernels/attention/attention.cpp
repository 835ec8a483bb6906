// flash is cuDNN's SDPA, math the composed form. Both drop the weights that the CPU drops: cuDNN is given the mask,
// drawn into the workspace, instead of drawing its own.
#include "core/ops/text/attention.h"

#include "core/cuda/kernels.h"
#include "core/cuda/kernels/attention/attention_graphs.h"
#include "core/cuda/kernels/attention/math_attention.h"

#include <fmt/format.h>

#include <limits>

namespace ptrain::cuda {
namespace {

const AttentionAttributes& attributes_of(const KernelContext& context) {
  // The op and its gradient carry the same attributes.
  return context.op.type() == "attention" ? context.op_as<Attention>().attrs() : context.op_as<AttentionGrad>().attrs();
}

// Inputs of packed sequences.
constexpr std::size_t offsets_input = 3, gradient_offsets_input = 6;

class FlashKernel : public Kernel {
 public:
  FlashKernel(const KernelContext& context, Device& device, PlannedGraph graph)
      : device_(device),
        attributes_(attributes_of(context)),
        e_(attributes_, context.inputs),
        graph_(std::move(graph)) {
    const std::size_t offsets_bytes = static_cast<std::size_t>(e_.batch + 1) * sizeof(std::int32_t);
    if (e_.packed) qkv_offsets_ = layout_.take(offsets_bytes), out_offsets_ = layout_.take(offsets_bytes);
    if (attributes_.dropout > 0) mask_ = layout_.take(e_.bytes(e_.scores()));
    graph_workspace_ = layout_.take(graph_.workspace_bytes());
  }

  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  KernelRecord record() const override { return {"flash " + graph_.implementation()}; }

 protected:
  /// Draws the mask and binds q, k, v, the lengths, the offsets and the mask.
  void bind_inputs(const KernelArgs& args, const AttentionSequences& sequences) {
    pointers_.clear();
    bind_parts(args.inputs[0]);
    pointers_.insert(pointers_.end(), 2, args.inputs[1]);
    if (e_.packed) {
      bind_offsets(sequences, 3 * e_.part_offset(), qkv_offsets_.as<std::int32_t>(args.workspace));
      bind_offsets(sequences, e_.part_offset(), out_offsets_.as<std::int32_t>(args.workspace));
    }
    if (attributes_.dropout <= 0) return;
    make_attention_mask(device_, e_, attributes_, args.inputs[2], mask_.in(args.workspace));
    pointers_.push_back(mask_.in(args.workspace));
  }
  void bind(void* pointer) { pointers_.push_back(pointer); }
  /// Binds q, k and v, or their gradients, where they lie in the first token.
  void bind_parts(void* tokens) {
    for (int part = 0; part < 3; ++part) bind(static_cast<std::byte*>(tokens) + e_.bytes(part * e_.part_offset()));
  }
  void run_graph(void* workspace) { graph_.run(pointers_, graph_workspace_.in(workspace)); }

  Device& device_;
  AttentionAttributes attributes_;
  AttentionExtents e_;

 private:
  void bind_offsets(const AttentionSequences& sequences, std::int64_t width, std::int32_t* offsets) {
    element_offsets(device_, sequences.places, width, offsets);
    bind(offsets);
  }

  PlannedGraph graph_;
  WorkspaceLayout layout_;
  WorkspacePart qkv_offsets_, out_offsets_, mask_, graph_workspace_;
  std::vector<void*> pointers_;
};

class FlashAttentionKernel final : public FlashKernel {
 public:
  using FlashKernel::FlashKernel;

  void run(const KernelArgs& args) override {
    const AttentionSequences sequences(e_, args.inputs, offsets_input);
    bind_inputs(args, sequences);
    bind(args.outputs[0]);
    bind(args.outputs[1]);
    run_graph(args.workspace);
    clear_padded_tokens(device_, e_, e_.part_offset(), sequences, args.outputs[0]);
    clear_padded_lse(device_, e_, sequences.lengths, static_cast<float*>(args.outputs[1]));
  }
};

class FlashAttentionGradKernel final : public FlashKernel {
 public:
  using FlashKernel::FlashKernel;

  void run(const KernelArgs& args) override {
    const AttentionSequences sequences(e_, args.inputs, gradient_offsets_input);
    bind_inputs(args, sequences);
    bind(args.inputs[3]);
    bind(args.inputs[5]);
    bind(args.inputs[4]);
    bind_parts(args.outputs[0]);
    run_graph(args.workspace);
    clear_padded_tokens(device_, e_, 3 * e_.part_offset(), sequences, args.outputs[0]);
  }
};

/// What the composed form says of itself: why flash does not run, if it was asked for.
std::string describe_math(const std::string& products, const std::string& refusal) {
  return refusal.empty() ? "math " + products : fmt::format("math {} (flash: {})", products, refusal);
}

/// The composed form of one direction: `Products` is MathAttention or MathAttentionGrad.
template <typename Products>
class MathKernel : public Kernel {
 public:
  MathKernel(const KernelContext& context, Device& device, std::string refusal)
      : e_(attributes_of(context), context.inputs),
        dropout_(attributes_of(context).dropout > 0),
        math_(context, device, attributes_of(context)),
        refusal_(std::move(refusal)) {}

  std::size_t workspace_bytes() const override { return math_.workspace_bytes(); }
  KernelRecord record() const override { return {describe_math(math_.implementation(), refusal_)}; }

 protected:
  AttentionSequences sequences(const KernelArgs& args, std::size_t offsets) const { return {e_, args.inputs, offsets}; }
  /// Null without dropout.
  const void* rng(const KernelArgs& args) const { return dropout_ ? args.inputs[2] : nullptr; }
  Products& math() { return math_; }

 private:
  AttentionExtents e_;
  bool dropout_;
  Products math_;
  std::string refusal_;
};

class MathAttentionKernel final : public MathKernel<MathAttention> {
 public:
  using MathKernel::MathKernel;

  void run(const KernelArgs& args) override {
    math().run(args.inputs[0], sequences(args, offsets_input), rng(args), args.outputs[0],
               static_cast<float*>(args.outputs[1]), args.workspace);
  }
};

class MathAttentionGradKernel final : public MathKernel<MathAttentionGrad> {
 public:
  using MathKernel::MathKernel;

  void run(const KernelArgs& args) override {
    math().run(args.inputs[0], sequences(args, gradient_offsets_input), rng(args),
               static_cast<const float*>(args.inputs[4]), args.inputs[5], args.outputs[0], args.workspace);
  }
};

/// Empty where flash was not asked for or cuDNN has no plan; then the reason says why (empty: not asked for).
Planning plan_flash(const KernelContext& context, Device& device, const std::function<CudnnGraph()>& build) {
  if (attributes_of(context).algorithm == AttentionAlgorithm::math) return {};
  if (!is_low_precision(context.inputs[0].dtype)) return {std::nullopt, "fp32"};
  // Layers differ in the stream of their dropout, which is not in the graph: without it they share one.
  AttentionAttributes shared = attributes_of(context);
  shared.stream = 0;
  const Attention forward(shared);
  const AttentionGrad backward(shared);
  const Op& op = context.op.type() == forward.type() ? static_cast<const Op&>(forward) : backward;
  // Nor is the number of packed tokens: those graphs are the ones of the most tokens.
  std::vector<TensorDesc> inputs(context.inputs.begin(), context.inputs.end());
  std::vector<TensorDesc> outputs(context.outputs.begin(), context.outputs.end());
  const AttentionExtents e(shared, context.inputs);
  if (e.packed && e.batch * e.length * 3 * e.part_offset() > std::numeric_limits<std::int32_t>::max()) {
    return {std::nullopt, "offsets beyond 32 bits"};
  }
  for (std::vector<TensorDesc>* tensors : {&inputs, &outputs}) {
    for (TensorDesc& tensor : *tensors) {
      const bool is_tokens = is_floating(tensor.dtype) && tensor.shape.rank() == 2;
      if (is_tokens) tensor.shape = Shape{e.batch * e.length, tensor.shape[1]};
    }
  }
  // Not searched: on scratch memory the lengths would mean nothing.
  return plan_graph({op, inputs, outputs, context.options, context.search_cache}, device, unbounded_rules(context),
                    Search::no, build);
}

}  // namespace

std::unique_ptr<Kernel> make_attention(const KernelContext& context, Device& device) {
  const AttentionAttributes& attributes = attributes_of(context);
  Planning flash = plan_flash(context, device, [&] {
    return attention_graph(device.cudnn_target(), {attributes, context.inputs}, attributes);
  });
  if (flash.planned) return std::make_unique<FlashAttentionKernel>(context, device, std::move(*flash.planned));
  return std::make_unique<MathAttentionKernel>(context, device, std::move(flash.reason));
}

std::unique_ptr<Kernel> make_attention_grad(const KernelContext& context, Device& device) {
  const AttentionAttributes& attributes = attributes_of(context);
  Planning flash = plan_flash(context, device, [&] {
    return attention_grad_graph(device.cudnn_target(), {attributes, context.inputs}, attributes,
                                context.options.deterministic);
  });
  if (flash.planned) return std::make_unique<FlashAttentionGradKernel>(context, device, std::move(*flash.planned));
  return std::make_unique<MathAttentionGradKernel>(context, device, std::move(flash.reason));
}

}  // namespace ptrain::cuda
