// Convolutions with parts of batch norms: cuDNN's fused graphs if it has them (fp16), else the plain convolution with
// passes over the data before or after it.
#include "core/ops/image/conv2d_batch_norm.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/device/workspace.h"
#include "core/cuda/kernels/conv2d_batch_norm/conv_batch_norm.h"
#include "core/cuda/library/compiled_graph.h"
#include "core/cuda/primitives/convert.h"
#include "core/ops/normalization/batch_norm_parts.h"

#include <fmt/format.h>

#include <array>

namespace ptrain::cuda {
namespace {

const float* floats(const KernelArgs& args, int input) {
  return static_cast<const float*>(args.inputs[static_cast<std::size_t>(input)]);
}

/// cuDNN's fused graph, bound to the op's `inputs` in that order, to its outputs, and to cuDNN's extra outputs.
class FusedKernel final : public Kernel {
 public:
  FusedKernel(const KernelContext& context, Device& device, CompiledGraph planned, std::vector<int> inputs)
      : device_(device), planned_(std::move(planned)), inputs_(std::move(inputs)) {
    const auto bound = planned_.bound();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const TensorDesc& desc = context.inputs[static_cast<std::size_t>(inputs_[i])];
      if (desc.dtype == bound[i].dtype) continue;
      rounded_.push_back({i, desc, bound[i].dtype, layout_.take(bound[i].span_bytes())});
    }
    for (const TensorLayout& unused : bound.subspan(inputs_.size() + context.outputs.size())) {
      unused_.push_back(layout_.take(unused.span_bytes()));
    }
    scratch_ = layout_.take(planned_.workspace_bytes());
  }

  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  KernelRecord record() const override { return {"fused " + planned_.implementation()}; }

  void run(const KernelArgs& args) override {
    pointers_.clear();
    for (const int input : inputs_) pointers_.push_back(args.inputs[static_cast<std::size_t>(input)]);
    for (const Rounded& r : rounded_) {
      void* result = r.result.in(args.workspace);
      convert(device_, r.desc.dtype, pointers_[r.index], r.dtype, result, r.desc.count());
      pointers_[r.index] = result;
    }
    pointers_.insert(pointers_.end(), args.outputs.begin(), args.outputs.end());
    for (const WorkspacePart& unused : unused_) pointers_.push_back(unused.in(args.workspace));
    planned_.run(pointers_, scratch_.in(args.workspace));
  }

 private:
  /// A norm's scale or offset, converted to the dtype of the data for the graph.
  struct Rounded {
    std::size_t index;
    TensorDesc desc;
    DType dtype;
    WorkspacePart result;
  };

  Device& device_;
  CompiledGraph planned_;
  std::vector<int> inputs_;
  WorkspaceLayout layout_;
  std::vector<Rounded> rounded_;
  std::vector<WorkspacePart> unused_;
  WorkspacePart scratch_;
  std::vector<void*> pointers_;
};

/// A kernel for a part of `context`'s op.
std::unique_ptr<Kernel> make_part(const KernelContext& context, Device& device, CudaKernelFactory make, const Op& op,
                                  const std::vector<TensorDesc>& inputs, const TensorDesc& output) {
  return make({op, inputs, std::span(&output, 1), context.options, context.search_cache, context.collectives}, device);
}

/// relu(x * scale + offset) in the workspace.
class Prologue {
 public:
  Prologue(const KernelContext& context, Device& device, const TensorDesc& x, const TensorDesc& channels,
           WorkspaceLayout& layout)
      : result_(layout.take(x.bytes())),
        apply_(make_part(context, device, make_batch_norm_apply, BatchNormApply({.activation = Activation::relu}),
                         {x, channels, channels, absent_input(), absent_input(), absent_input()}, x)) {}

  void* run(void* x, void* scale, void* offset, void* workspace) const {
    const std::array<void*, 6> inputs{x, scale, offset};
    void* result = result_.in(workspace);
    apply_->run({inputs, std::span(&result, 1)});
    return result;
  }

 private:
  WorkspacePart result_;
  std::unique_ptr<Kernel> apply_;
};

/// The plain convolution, with passes over the data before or after it.
class SeparateKernel : public Kernel {
 public:
  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  KernelRecord record() const override {
    return {fmt::format("separate {} ({})", convolution_->record().implementation, reason_)};
  }

 protected:
  SeparateKernel(Device& device, std::string reason) : device_(device), reason_(std::move(reason)) {}

  /// `other_bytes` of scratch are for the passes before or after the convolution.
  void set_convolution(std::unique_ptr<Kernel> convolution, std::size_t other_bytes) {
    convolution_ = std::move(convolution);
    scratch_ = layout_.take(std::max(convolution_->workspace_bytes(), other_bytes));
  }

  Device& device_;
  WorkspaceLayout layout_;
  WorkspacePart scratch_;
  std::unique_ptr<Kernel> convolution_;

 private:
  std::string reason_;  // why it is not fused
};

class SeparateConv2d final : public SeparateKernel {
 public:
  using Op = Conv2dBatchNorm;

  SeparateConv2d(const KernelContext& context, Device& device, std::string reason)
      : SeparateKernel(device, std::move(reason)),
        dtype_(context.inputs[Op::x].dtype),
        rows_(channel_extent(device, context.outputs[0])) {
    const TensorDesc &x = context.inputs[Op::x], &w = context.inputs[Op::w], &scale = context.inputs[Op::scale];
    if (!is_absent(scale)) prologue_.emplace(context, device, x, scale, layout_);
    set_convolution(
        make_part(context, device, make_conv2d, Conv2d(context.op_as<Op>().attrs()), {x, w}, context.outputs[0]),
        rows_.partial_bytes());
  }

  void run(const KernelArgs& args) override {
    std::array<void*, 2> inputs{args.inputs[Op::x], args.inputs[Op::w]};
    if (prologue_) {
      inputs[0] = prologue_->run(inputs[0], args.inputs[Op::scale], args.inputs[Op::offset], args.workspace);
    }
    convolution_->run({inputs, args.outputs.first(1), scratch_.in(args.workspace)});
    sum_results(device_, rows_, dtype_, args.outputs[0], scratch_.as<ChannelSums>(args.workspace),
                static_cast<float*>(args.outputs[1]), static_cast<float*>(args.outputs[2]));
  }

 private:
  DType dtype_;
  ChannelExtent rows_;
  std::optional<Prologue> prologue_;
};

class SeparateGradInput final : public SeparateKernel {
 public:
  using Op = Conv2dBatchNormGradInput;

  SeparateGradInput(const KernelContext& context, Device& device, std::string reason)
      : SeparateKernel(device, std::move(reason)),
        dtype_(context.inputs[Op::x].dtype),
        rows_(channel_extent(device, context.inputs[Op::x])) {
    const TensorDesc& x = context.inputs[Op::x];
    const Conv2dGradInput plain({context.op_as<Op>().attrs(), x.shape});
    set_convolution(
        make_part(context, device, make_conv2d_grad_input, plain, {context.inputs[Op::dy], context.inputs[Op::w]}, x),
        rows_.partial_bytes());
  }

  void run(const KernelArgs& args) override {
    convolution_->run({args.inputs.first(2), args.outputs.first(1), scratch_.in(args.workspace)});
    const MaskedGradient gradient{args.outputs[0],
                                  args.inputs[Op::x],
                                  floats(args, Op::saved_mean),
                                  floats(args, Op::saved_invstd),
                                  floats(args, Op::gamma),
                                  floats(args, Op::beta),
                                  static_cast<float*>(args.outputs[1]),
                                  static_cast<float*>(args.outputs[2])};
    mask_and_sum(device_, rows_, dtype_, gradient, scratch_.as<ChannelSums>(args.workspace));
  }

 private:
  DType dtype_;
  ChannelExtent rows_;
};

class SeparateGradWeight final : public SeparateKernel {
 public:
  using Op = Conv2dBatchNormGradWeight;

  SeparateGradWeight(const KernelContext& context, Device& device, std::string reason)
      : SeparateKernel(device, std::move(reason)),
        prologue_(context, device, context.inputs[Op::x], context.inputs[Op::scale], layout_) {
    const Conv2dGradWeight plain(context.op_as<Op>().attrs());
    set_convolution(make_part(context, device, make_conv2d_grad_weight, plain,
                              {context.inputs[Op::x], context.inputs[Op::dy]}, context.outputs[0]),
                    0);
  }

  void run(const KernelArgs& args) override {
    const std::array<void*, 2> inputs{
        prologue_.run(args.inputs[Op::x], args.inputs[Op::scale], args.inputs[Op::offset], args.workspace),
        args.inputs[Op::dy]};
    convolution_->run({inputs, args.outputs, scratch_.in(args.workspace)});
  }

 private:
  Prologue prologue_;
};

/// Fused if cuDNN has a plan, which needs data and weights of one dtype. Its sums of channels differ in their last bits
/// from run to run, although no note of an engine says so.
template <typename Separate>
std::unique_ptr<Kernel> make_kernel(const KernelContext& context, Device& device, const TensorDesc& weights,
                                    std::vector<int> inputs, const std::function<CudnnGraph()>& build) {
  constexpr bool sums = !std::is_same_v<Separate, SeparateGradWeight>;
  Planning fused{std::nullopt, "data and weights differ in dtype"};
  if (sums && context.options.deterministic) {
    fused.reason = "cuDNN's sums are not deterministic";
  } else if (weights.dtype == context.inputs[0].dtype) {
    fused = plan_graph(context, device, convolution_rules(context), Search::all, build);
  }
  if (!fused.planned) return std::make_unique<Separate>(context, device, std::move(fused.reason));
  return std::make_unique<FusedKernel>(context, device, *fused.planned, std::move(inputs));
}

}  // namespace

std::unique_ptr<Kernel> make_conv2d_batch_norm(const KernelContext& context, Device& device) {
  using Op = Conv2dBatchNorm;
  const TensorDesc &x = context.inputs[Op::x], &w = context.inputs[Op::w];
  const bool has_prologue = !is_absent(context.inputs[Op::scale]);
  const std::vector<int> inputs =
      has_prologue ? std::vector<int>{Op::x, Op::scale, Op::offset, Op::w} : std::vector<int>{Op::x, Op::w};
  return make_kernel<SeparateConv2d>(context, device, w, inputs, [&] {
    return conv_batch_norm_graph(device.cudnn_target(), context.op_as<Op>().attrs(), x, w, context.outputs[0],
                                 has_prologue);
  });
}

std::unique_ptr<Kernel> make_conv2d_batch_norm_grad_input(const KernelContext& context, Device& device) {
  using Op = Conv2dBatchNormGradInput;
  const TensorDesc &dy = context.inputs[Op::dy], &w = context.inputs[Op::w], &x = context.inputs[Op::x];
  const std::vector<int> inputs{Op::dy, Op::w, Op::x, Op::saved_mean, Op::saved_invstd, Op::gamma, Op::beta};
  return make_kernel<SeparateGradInput>(context, device, w, inputs, [&] {
    return conv_batch_norm_grad_input_graph(device.cudnn_target(), context.op_as<Op>().attrs(), dy, w, x);
  });
}

std::unique_ptr<Kernel> make_conv2d_batch_norm_grad_weight(const KernelContext& context, Device& device) {
  using Op = Conv2dBatchNormGradWeight;
  const TensorDesc &x = context.inputs[Op::x], &dy = context.inputs[Op::dy], &dw = context.outputs[0];
  return make_kernel<SeparateGradWeight>(context, device, dw, {Op::x, Op::scale, Op::offset, Op::dy}, [&] {
    return conv_batch_norm_grad_weight_graph(device.cudnn_target(), context.op_as<Op>().attrs().conv, x, dy, dw);
  });
}

}  // namespace ptrain::cuda
