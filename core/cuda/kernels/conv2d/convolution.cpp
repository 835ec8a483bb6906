#include "core/cuda/kernels/conv2d/convolution.h"

#include "core/base/errors.h"
#include "core/cuda/device/workspace.h"
#include "core/cuda/primitives/convert.h"

#include <array>

namespace ptrain::cuda {
namespace {

TensorDesc in_dtype(DType dtype, const TensorDesc& desc) { return {dtype, desc.shape}; }

class ConvolutionKernel final : public Kernel {
 public:
  ConvolutionKernel(const KernelContext& context, Device& device, PlannedGraph graph)
      : device_(device), graph_(std::move(graph)), dtype_(context.inputs[0].dtype), second_(context.inputs[1]) {
    if (second_.dtype != dtype_) converted_ = layout_.take(in_dtype(dtype_, second_).bytes());
    plan_workspace_ = layout_.take(graph_.workspace_bytes());
  }

  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  KernelRecord record() const override { return {graph_.implementation()}; }

  void run(const KernelArgs& args) override {
    void* second = args.inputs[1];
    if (second_.dtype != dtype_) {
      second = converted_.in(args.workspace);
      convert(device_, second_.dtype, args.inputs[1], dtype_, second, second_.count());
    }
    const std::array<void*, 3> pointers{args.inputs[0], second, args.outputs[0]};
    graph_.run(pointers, plan_workspace_.in(args.workspace));
  }

 private:
  Device& device_;
  PlannedGraph graph_;
  DType dtype_;
  TensorDesc second_;
  WorkspaceLayout layout_;
  WorkspacePart converted_, plan_workspace_;
};

}  // namespace

CudnnGraph convolution_graph(const CudnnTarget& target, const Conv2dAttributes& conv, const TensorDesc& x,
                             const TensorDesc& w, const TensorDesc& y) {
  CudnnGraph graph(target, x.dtype);
  const auto data = graph.input(channels_last(x));
  const auto weights = graph.input(channels_last(in_dtype(x.dtype, w)));
  graph.output(graph.convolution(data, weights, conv), channels_last(y));
  return graph;
}

CudnnGraph convolution_grad_input_graph(const CudnnTarget& target, const Conv2dAttributes& conv, const TensorDesc& dy,
                                        const TensorDesc& w, const TensorDesc& dx) {
  CudnnGraph graph(target, dy.dtype);
  const auto gradient = graph.input(channels_last(dy));
  const auto weights = graph.input(channels_last(in_dtype(dy.dtype, w)));
  graph.output(graph.convolution_grad_input(gradient, weights, conv, channels_last(dx)), channels_last(dx));
  return graph;
}

CudnnGraph convolution_grad_weight_graph(const CudnnTarget& target, const Conv2dAttributes& conv, const TensorDesc& x,
                                         const TensorDesc& dy, const TensorDesc& dw) {
  CudnnGraph graph(target, x.dtype);
  const auto data = graph.input(channels_last(x));
  const auto gradient = graph.input(channels_last(dy));
  auto result = graph.convolution_grad_weight(data, gradient, conv, channels_last(dw));
  // cuDNN's weight gradients have the data's dtype; another one is written by an operation after them.
  if (dw.dtype != x.dtype) result = graph.identity(result);
  graph.output(result, channels_last(dw));
  return graph;
}

std::unique_ptr<Kernel> make_convolution(const KernelContext& context, Device& device,
                                         const std::function<CudnnGraph()>& build) {
  Planning planning = plan_graph(context, device, convolution_rules(context), Search::all, build);
  if (!planning.planned) fail("{}: {}", describe_problem(context), planning.reason);
  return std::make_unique<ConvolutionKernel>(context, device, std::move(*planning.planned));
}

}  // namespace ptrain::cuda
