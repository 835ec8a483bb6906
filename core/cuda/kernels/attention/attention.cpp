// flash and flash_mask are cuDNN's SDPA, math the composed form. With flash, cuDNN draws dropout's mask where it has
// plans for that; the others drop the same weights as the CPU, and cuDNN receives the mask, drawn into the workspace.
#include "core/ops/text/attention.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/kernels/attention/attention_graphs.h"
#include "core/cuda/kernels/attention/math_attention.h"

#include <cudnn.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace ptrain::cuda {
namespace {

enum class Direction { forward, backward };

Direction get_direction(const KernelContext& context) {
  return context.op.type() == "attention" ? Direction::forward : Direction::backward;
}

/// The op and its gradient carry the same attributes.
const AttentionAttributes& get_attributes(const KernelContext& context) {
  const bool is_forward = get_direction(context) == Direction::forward;
  return is_forward ? context.op_as<Attention>().attrs() : context.op_as<AttentionGrad>().attrs();
}

// Inputs that packed sequences need.
constexpr std::size_t offsets_input = 3, gradient_offsets_input = 6;

/// Describes a form, with the reason why flash was requested but does not run.
std::string describe(AttentionAlgorithm form, const std::string& implementation, const std::string& refusal) {
  const std::string text = fmt::format("{} {}", enum_name(form), implementation);
  return refusal.empty() ? text : fmt::format("{} (flash: {})", text, refusal);
}

/// cuDNN's form of attention, flash or flash_mask, if it has one, and why it differs from the requested one.
struct FlashPlanning {
  std::optional<CompiledGraph> graph = {};
  AttentionAlgorithm form = AttentionAlgorithm::flash;
  std::string refusal = {};
};

class FlashKernel : public Kernel {
  using Op = Attention;  // its first inputs are the gradient's too

 public:
  FlashKernel(const KernelContext& context, Device& device, FlashPlanning planning)
      : device_(device),
        attributes_(get_attributes(context)),
        e_(attributes_, context.inputs),
        graph_(std::move(*planning.graph)),
        refusal_(std::move(planning.refusal)) {
    attributes_.algorithm = planning.form;
    const std::size_t offsets_bytes = static_cast<std::size_t>(e_.batch + 1) * sizeof(std::int32_t);
    if (e_.packed) qkv_offsets_ = layout_.take(offsets_bytes), out_offsets_ = layout_.take(offsets_bytes);
    if (attributes_.dropout > 0) take_dropout();
    graph_workspace_ = layout_.take(graph_.workspace_bytes());
  }

  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  KernelRecord record() const override { return {describe(attributes_.algorithm, graph_.implementation(), refusal_)}; }

 protected:
  /// Binds q, k, v, the lengths and the offsets, and draws and binds dropout's inputs.
  void bind_inputs(const KernelArgs& args, const AttentionSequences& sequences) {
    pointers_.clear();
    bind_parts(args.inputs[Op::qkv]);
    pointers_.insert(pointers_.end(), 2, args.inputs[Op::lengths]);
    if (e_.packed) {
      bind_offsets(sequences, e_.qkv_width(), qkv_offsets_.as<std::int32_t>(args.workspace));
      bind_offsets(sequences, e_.out_width(), out_offsets_.as<std::int32_t>(args.workspace));
    }
    if (attributes_.dropout > 0) bind_dropout(args.inputs[Op::rng], args.workspace);
  }
  void bind(void* pointer) { pointers_.push_back(pointer); }
  /// Binds q, k and v, or their gradients, at their addresses in the first token.
  void bind_parts(void* tokens) {
    for (int part = 0; part < 3; ++part) bind(static_cast<std::byte*>(tokens) + e_.bytes(e_.part_begin(part, 0)));
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

  bool has_mask() const { return attributes_.algorithm == AttentionAlgorithm::flash_mask; }
  void take_dropout() {
    if (has_mask()) {
      mask_ = layout_.take(e_.bytes(e_.scores()));
    } else {
      seed_ = layout_.take(sizeof(std::int64_t)), offset_ = layout_.take(sizeof(std::int64_t));
    }
  }
  void bind_dropout(const void* rng, void* workspace) {
    if (has_mask()) {
      make_attention_mask(device_, e_, attributes_, rng, mask_scale(attributes_), mask_.in(workspace));
      bind(mask_.in(workspace));
      return;
    }
    auto *seed = seed_.as<std::int64_t>(workspace), *offset = offset_.as<std::int64_t>(workspace);
    make_attention_seed(device_, attributes_, rng, seed, offset);
    bind(seed);
    bind(offset);
  }

  CompiledGraph graph_;
  std::string refusal_;
  WorkspaceLayout layout_;
  WorkspacePart qkv_offsets_, out_offsets_, mask_, seed_, offset_, graph_workspace_;
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
    clear_padded_tokens(device_, e_, e_.out_width(), sequences, args.outputs[0]);
    clear_padded_lse(device_, e_, sequences.lengths, static_cast<float*>(args.outputs[1]));
  }
};

class FlashAttentionGradKernel final : public FlashKernel {
  using Op = AttentionGrad;

 public:
  using FlashKernel::FlashKernel;

  void run(const KernelArgs& args) override {
    const AttentionSequences sequences(e_, args.inputs, gradient_offsets_input);
    bind_inputs(args, sequences);
    bind(args.inputs[Op::out]);
    bind(args.inputs[Op::dout]);
    bind(args.inputs[Op::lse]);
    bind_parts(args.outputs[0]);
    run_graph(args.workspace);
    clear_padded_tokens(device_, e_, e_.qkv_width(), sequences, args.outputs[0]);
  }
};

/// The composed form of one direction: `Products` is MathAttention or MathAttentionGrad.
template <typename Products>
class MathKernel : public Kernel {
  using Op = Attention;  // its first inputs are the gradient's too

 public:
  MathKernel(const KernelContext& context, Device& device, std::string refusal)
      : e_(get_attributes(context), context.inputs),
        dropout_(get_attributes(context).dropout > 0),
        math_(context, device, get_attributes(context)),
        refusal_(std::move(refusal)) {}

  std::size_t workspace_bytes() const override { return math_.workspace_bytes(); }
  KernelRecord record() const override {
    return {describe(AttentionAlgorithm::math, math_.implementation(), refusal_)};
  }

 protected:
  AttentionSequences sequences(const KernelArgs& args, std::size_t offsets) const { return {e_, args.inputs, offsets}; }
  /// Null without dropout.
  const void* rng(const KernelArgs& args) const { return dropout_ ? args.inputs[Op::rng] : nullptr; }
  Products& math() { return math_; }

 private:
  AttentionExtents e_;
  bool dropout_;
  Products math_;
  std::string refusal_;
};

class MathAttentionKernel final : public MathKernel<MathAttention> {
  using Op = Attention;

 public:
  using MathKernel::MathKernel;

  void run(const KernelArgs& args) override {
    math().run(args.inputs[Op::qkv], sequences(args, offsets_input), rng(args), args.outputs[0],
               static_cast<float*>(args.outputs[1]), args.workspace);
  }
};

class MathAttentionGradKernel final : public MathKernel<MathAttentionGrad> {
  using Op = AttentionGrad;

 public:
  using MathKernel::MathKernel;

  void run(const KernelArgs& args) override {
    math().run(args.inputs[Op::qkv], sequences(args, gradient_offsets_input), rng(args),
               static_cast<const float*>(args.inputs[Op::lse]), args.inputs[Op::dout], args.outputs[0], args.workspace);
  }
};

/// The inputs of a layer's forward op, from either direction's kernel. Graphs do not include the number of packed
/// tokens, so the largest is used.
std::vector<TensorDesc> forward_inputs(const KernelContext& context, const AttentionExtents& e) {
  const auto first = context.inputs.first(std::min(context.inputs.size(), offsets_input));
  std::vector<TensorDesc> inputs(first.begin(), first.end());
  if (!e.packed) return inputs;
  inputs[Attention::qkv].shape = Shape{e.batch * e.length, e.qkv_width()};
  inputs.push_back(context.inputs.back());
  return inputs;
}

/// Plans one direction of the layer that the kernel of `context` belongs to.
Planning plan_direction(const KernelContext& context, Device& device, const AttentionAttributes& attributes,
                        Direction direction) {
  const AttentionExtents e(attributes, context.inputs);
  const Attention forward(attributes);
  const AttentionGrad backward(attributes);
  const bool is_forward = direction == Direction::forward;
  std::vector<TensorDesc> inputs = forward_inputs(context, e), outputs = forward.infer(inputs);
  if (!is_forward) {
    if (inputs.size() < offsets_input) inputs.push_back(absent_input());
    inputs.insert(inputs.begin() + AttentionGrad::out, {outputs[0], outputs[1], outputs[0]});
    outputs = {inputs[AttentionGrad::qkv]};
  }
  const Op& op = is_forward ? static_cast<const Op&>(forward) : backward;
  // Not searched: on scratch memory the lengths would be meaningless.
  return plan_graph({op, inputs, outputs, context.options, context.search_cache}, device, unbounded_rules(context),
                    Search::no, [&] {
                      const CudnnTarget target = device.cudnn_target();
                      return is_forward ? attention_graph(target, e, attributes)
                                        : attention_grad_graph(target, e, attributes, context.options.deterministic);
                    });
}

/// Why cuDNN is not asked for its attention although the layer wants it; empty: it is.
std::string refuse_flash(const KernelContext& context, const Device& device, const AttentionExtents& e) {
  constexpr std::size_t packs_sequences = 91800, pads_keys_by_infinity = 92600;  // cuDNN's versions that do
  if (!is_low_precision(context.inputs[0].dtype)) return "fp32";
  // Before, an engine for Hopper overflows in the half tile behind the keys where a row's scores are all far below
  // zero: https://github.com/pytorch/pytorch/issues/196678, https://github.com/NVIDIA/cudnn-frontend/pull/628
  if (device.properties().major == 9 && e.length % 128 == 64 && cudnnGetVersion() < pads_keys_by_infinity) {
    return "cuDNN before 9.26 may give NaN gradients at this length on this GPU";
  }
  if (!e.packed) return {};
  if (cudnnGetVersion() < packs_sequences) return "packed sequences need cuDNN 9.18";
  const bool fits = e.batch * e.length * e.qkv_width() <= std::numeric_limits<std::int32_t>::max();
  return fits ? std::string{} : "offsets beyond 32 bits";
}

FlashPlanning plan_flash(const KernelContext& context, Device& device) {
  AttentionAttributes attributes = get_attributes(context);
  if (attributes.algorithm == AttentionAlgorithm::math) return {};
  const AttentionExtents e(attributes, context.inputs);
  if (std::string refusal = refuse_flash(context, device, e); !refusal.empty()) return {.refusal = std::move(refusal)};
  // Layers differ in the stream of their dropout, which is not part of the graph: without it they share one.
  attributes.stream = 0;
  const Direction direction = get_direction(context);
  std::string refusal;
  if (attributes.algorithm == AttentionAlgorithm::flash && attributes.dropout > 0) {
    // Both directions must drop the same weights, so cuDNN draws the mask in both or in neither.
    Planning forward = plan_direction(context, device, attributes, Direction::forward);
    Planning backward = plan_direction(context, device, attributes, Direction::backward);
    if (forward.planned && backward.planned) {
      return {std::move(direction == Direction::forward ? forward : backward).planned, attributes.algorithm, {}};
    }
    refusal = forward.planned ? std::move(backward.reason) : std::move(forward.reason);
    attributes.algorithm = AttentionAlgorithm::flash_mask;
  }
  Planning planning = plan_direction(context, device, attributes, direction);
  if (!planning.planned) return {.refusal = std::move(planning.reason)};
  return {std::move(planning.planned), attributes.algorithm, std::move(refusal)};
}

}  // namespace

std::unique_ptr<Kernel> make_attention(const KernelContext& context, Device& device) {
  FlashPlanning flash = plan_flash(context, device);
  if (flash.graph) return std::make_unique<FlashAttentionKernel>(context, device, std::move(flash));
  return std::make_unique<MathAttentionKernel>(context, device, std::move(flash.refusal));
}

std::unique_ptr<Kernel> make_attention_grad(const KernelContext& context, Device& device) {
  FlashPlanning flash = plan_flash(context, device);
  if (flash.graph) return std::make_unique<FlashAttentionGradKernel>(context, device, std::move(flash));
  return std::make_unique<MathAttentionGradKernel>(context, device, std::move(flash.refusal));
}

}  // namespace ptrain::cuda
