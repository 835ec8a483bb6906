// Convolutions with parts of batch norms: cuDNN's fused graphs where it has them (fp16), else the plain convolution
// with passes over the data before or after it.
#include "core/ops/normed_conv2d.h"

#include "core/cuda/convert.h"
#include "core/cuda/kernels.h"
#include "core/cuda/normed_convolution.h"
#include "core/cuda/planned_graph.h"
#include "core/cuda/workspace.h"
#include "core/ops/batch_norm_parts.h"

#include <fmt/format.h>

#include <array>

namespace ptrain::cuda {
namespace {

const float* floats(const KernelArgs& args, int input) {
  return static_cast<const float*>(args.inputs[static_cast<std::size_t>(input)]);
}

/// The fused plan, if cuDNN has one: it wants data and weights of one dtype.
Planning plan_fused(const KernelContext& context, Device& device, const TensorDesc& weights,
                    const std::function<CudnnGraph()>& build) {
  if (weights.dtype != context.inputs[0].dtype) return {std::nullopt, "data and weights differ in dtype"};
  return plan_graph(context, device, convolution_rules(context), Search::as_asked, build);
}

/// "fused cudnn:...", or what runs instead and why.
std::string describe(const Planning& fused, const Kernel* convolution) {
  if (fused.planned) return "fused " + fused.planned->implementation();
  return fmt::format("separate {} ({})", convolution->implementation(), fused.reason);
}

/// A kernel that does a part of what `context`'s does.
std::unique_ptr<Kernel> make_part(const KernelContext& context, Device& device, CudaKernelFactory make, const Op& op,
                                  const std::vector<TensorDesc>& inputs, const TensorDesc& output) {
  return make({op, inputs, std::span(&output, 1), context.options, context.search_cache, context.collectives}, device);
}

/// A norm's scale and offset in the dtype of the data.
class LowAffine {
 public:
  LowAffine(const TensorDesc& data, WorkspaceLayout& layout)
      : dtype_(data.dtype),
        channels_(data.shape[-1]),
        scale_(layout.take(static_cast<std::size_t>(channels_) * size_of(dtype_))),
        offset_(layout.take(static_cast<std::size_t>(channels_) * size_of(dtype_))) {}

  /// Pointers to both.
  std::array<void*, 2> round(const Device& device, const void* scale, const void* offset, void* workspace) const {
    const std::array<void*, 2> results{scale_.in(workspace), offset_.in(workspace)};
    convert(device, DType::f32, scale, dtype_, results[0], channels_);
    convert(device, DType::f32, offset, dtype_, results[1], channels_);
    return results;
  }

 private:
  DType dtype_;
  std::int64_t channels_;
  WorkspacePart scale_, offset_;
};

/// relu(x * scale + offset) in the workspace.
class SeparatePrologue {
 public:
  SeparatePrologue(const KernelContext& context, Device& device, const TensorDesc& x, const TensorDesc& channels,
                   WorkspaceLayout& layout)
      : result_(layout.take(x.bytes())),
        apply_(make_part(context, device, make_batch_norm_apply, BatchNormApply({.relu = true}),
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

class NormedConv2dKernel final : public Kernel {
 public:
  using Op = NormedConv2d;

  NormedConv2dKernel(const KernelContext& context, Device& device)
      : device_(device), dtype_(context.inputs[Op::x].dtype), rows_(channel_extent(device, context.outputs[0])) {
    const TensorDesc &x = context.inputs[Op::x], &w = context.inputs[Op::w], &scale = context.inputs[Op::scale];
    const auto& conv = context.op_as<Op>().attrs();
    const bool has_prologue = !is_absent(scale);
    fused_ = plan_fused(context, device, w, [&] {
      return normed_convolution_graph(CudnnTarget(device.cudnn()), conv, x, w, context.outputs[0], has_prologue);
    });
    if (fused_.planned) {
      if (has_prologue) low_affine_.emplace(x, layout_);
      scratch_ = layout_.take(fused_.planned->workspace_bytes());
      return;
    }
    if (has_prologue) prologue_.emplace(context, device, x, scale, layout_);
    convolution_ = make_part(context, device, make_conv2d, Conv2d(conv), {x, w}, context.outputs[0]);
    scratch_ = layout_.take(std::max(convolution_->workspace_bytes(), rows_.partial_bytes()));
  }

  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  std::string implementation() const override { return describe(fused_, convolution_.get()); }

  void run(const KernelArgs& args) override { fused_.planned ? run_fused(args) : run_separate(args); }

 private:
  void run_fused(const KernelArgs& args) {
    pointers_.assign({args.inputs[Op::x]});
    if (low_affine_) {
      const auto affine = low_affine_->round(device_, args.inputs[Op::scale], args.inputs[Op::offset], args.workspace);
      pointers_.insert(pointers_.end(), affine.begin(), affine.end());
    }
    pointers_.push_back(args.inputs[Op::w]);
    pointers_.insert(pointers_.end(), args.outputs.begin(), args.outputs.end());
    fused_.planned->run(pointers_, scratch_.in(args.workspace));
  }

  void run_separate(const KernelArgs& args) {
    std::array<void*, 2> inputs{args.inputs[Op::x], args.inputs[Op::w]};
    if (prologue_) {
      inputs[0] = prologue_->run(inputs[0], args.inputs[Op::scale], args.inputs[Op::offset], args.workspace);
    }
    convolution_->run({inputs, args.outputs.first(1), scratch_.in(args.workspace)});
    sum_results(device_, rows_, dtype_, args.outputs[0], scratch_.as<ChannelSums>(args.workspace),
                static_cast<float*>(args.outputs[1]), static_cast<float*>(args.outputs[2]));
  }

  Device& device_;
  DType dtype_;
  ChannelExtent rows_;
  WorkspaceLayout layout_;
  WorkspacePart scratch_;
  Planning fused_;
  std::optional<LowAffine> low_affine_;
  std::vector<void*> pointers_;
  std::optional<SeparatePrologue> prologue_;  // where the plan is not fused, as the convolution
  std::unique_ptr<Kernel> convolution_;
};

class NormedConv2dGradInputKernel final : public Kernel {
 public:
  using Op = NormedConv2dGradInput;

  NormedConv2dGradInputKernel(const KernelContext& context, Device& device)
      : device_(device), dtype_(context.inputs[Op::x].dtype), rows_(channel_extent(device, context.inputs[Op::x])) {
    const TensorDesc &dy = context.inputs[Op::dy], &w = context.inputs[Op::w], &x = context.inputs[Op::x];
    const auto& conv = context.op_as<Op>().attrs();
    fused_ = plan_fused(context, device, w, [&] {
      return normed_convolution_grad_input_graph(CudnnTarget(device.cudnn()), conv, dy, w, x);
    });
    if (fused_.planned) {
      for (WorkspacePart& unused : unused_) unused = layout_.take(context.outputs[1].bytes());
      scratch_ = layout_.take(fused_.planned->workspace_bytes());
      return;
    }
    convolution_ = make_part(context, device, make_conv2d_grad_input, Conv2dGradInput({conv, x.shape}), {dy, w}, x);
    scratch_ = layout_.take(std::max(convolution_->workspace_bytes(), rows_.partial_bytes()));
  }

  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  std::string implementation() const override { return describe(fused_, convolution_.get()); }

  void run(const KernelArgs& args) override {
    if (fused_.planned) {
      pointers_.assign(args.inputs.begin(), args.inputs.end());
      pointers_.insert(pointers_.end(), args.outputs.begin(), args.outputs.end());
      for (const WorkspacePart& unused : unused_) pointers_.push_back(unused.in(args.workspace));
      fused_.planned->run(pointers_, scratch_.in(args.workspace));
      return;
    }
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
  Device& device_;
  DType dtype_;
  ChannelExtent rows_;
  WorkspaceLayout layout_;
  WorkspacePart scratch_;
  Planning fused_;
  std::array<WorkspacePart, 3> unused_;  // what cuDNN hands out beside the sums
  std::vector<void*> pointers_;
  std::unique_ptr<Kernel> convolution_;  // where the plan is not fused
};

class NormedConv2dGradWeightKernel final : public Kernel {
 public:
  using Op = NormedConv2dGradWeight;

  NormedConv2dGradWeightKernel(const KernelContext& context, Device& device) : device_(device) {
    const TensorDesc &x = context.inputs[Op::x], &dy = context.inputs[Op::dy], &dw = context.outputs[0];
    const auto& attrs = context.op_as<Op>().attrs();
    fused_ = plan_fused(context, device, dw, [&] {
      return normed_convolution_grad_weight_graph(CudnnTarget(device.cudnn()), attrs.conv, x, dy, dw);
    });
    if (fused_.planned) {
      low_affine_.emplace(x, layout_);
      scratch_ = layout_.take(fused_.planned->workspace_bytes());
      return;
    }
    prologue_.emplace(context, device, x, context.inputs[Op::scale], layout_);
    convolution_ = make_part(context, device, make_conv2d_grad_weight, Conv2dGradWeight(attrs), {x, dy}, dw);
    scratch_ = layout_.take(convolution_->workspace_bytes());
  }

  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  std::string implementation() const override { return describe(fused_, convolution_.get()); }

  void run(const KernelArgs& args) override {
    void* scratch = scratch_.in(args.workspace);
    if (fused_.planned) {
      const auto affine = low_affine_->round(device_, args.inputs[Op::scale], args.inputs[Op::offset], args.workspace);
      const std::array<void*, 5> pointers{args.inputs[Op::x], affine[0], affine[1], args.inputs[Op::dy],
                                          args.outputs[0]};
      return fused_.planned->run(pointers, scratch);
    }
    const std::array<void*, 2> inputs{
        prologue_->run(args.inputs[Op::x], args.inputs[Op::scale], args.inputs[Op::offset], args.workspace),
        args.inputs[Op::dy]};
    convolution_->run({inputs, args.outputs, scratch});
  }

 private:
  Device& device_;
  WorkspaceLayout layout_;
  WorkspacePart scratch_;
  Planning fused_;
  std::optional<LowAffine> low_affine_;
  std::optional<SeparatePrologue> prologue_;  // where the plan is not fused, as the convolution
  std::unique_ptr<Kernel> convolution_;
};

}  // namespace

std::unique_ptr<Kernel> make_normed_conv2d(const KernelContext& context, Device& device) {
  return std::make_unique<NormedConv2dKernel>(context, device);
}

std::unique_ptr<Kernel> make_normed_conv2d_grad_input(const KernelContext& context, Device& device) {
  return std::make_unique<NormedConv2dGradInputKernel>(context, device);
}

std::unique_ptr<Kernel> make_normed_conv2d_grad_weight(const KernelContext& context, Device& device) {
  return std::make_unique<NormedConv2dGradWeightKernel>(context, device);
}

}  // namespace ptrain::cuda
