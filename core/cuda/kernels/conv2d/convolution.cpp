#include "core/cuda/kernels/conv2d/convolution.h"

#include "core/base/errors.h"
#include "core/cuda/device/workspace.h"
#include "core/cuda/primitives/convert.h"

#include <array>
#include <vector>

namespace ptrain::cuda {
namespace {

TensorDesc in_dtype(DType dtype, const TensorDesc& desc) { return {dtype, desc.shape}; }

class ConvolutionKernel final : public Kernel {
 public:
  ConvolutionKernel(const KernelContext& context, Device& device, CompiledGraph graph)
      : device_(device), graph_(std::move(graph)), inputs_(context.inputs.begin(), context.inputs.end()) {
    for (const TensorDesc& input : inputs_) {
      const bool other = !is_absent(input) && input.dtype != inputs_[0].dtype;
      converted_.push_back(layout_.take(other ? in_dtype(inputs_[0].dtype, input).bytes() : 0));
    }
    plan_workspace_ = layout_.take(graph_.workspace_bytes());
  }

  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  KernelRecord record() const override { return {graph_.implementation()}; }

  void run(const KernelArgs& args) override {
    std::array<void*, most_inputs + 1> pointers;
    std::size_t count = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (is_absent(inputs_[i])) continue;
      void* input = args.inputs[i];
      if (inputs_[i].dtype != inputs_[0].dtype) {
        input = converted_[i].in(args.workspace);
        convert(device_, inputs_[i].dtype, args.inputs[i], inputs_[0].dtype, input, inputs_[i].count());
      }
      pointers[count++] = input;
    }
    pointers[count++] = args.outputs[0];
    graph_.run(std::span(pointers).first(count), plan_workspace_.in(args.workspace));
  }

 private:
  static constexpr std::size_t most_inputs = 4;  // x, w, bias, residual

  Device& device_;
  CompiledGraph graph_;
  std::vector<TensorDesc> inputs_;
  WorkspaceLayout layout_;
  std::vector<WorkspacePart> converted_;  // of each input
  WorkspacePart plan_workspace_;
};

}  // namespace

CudnnGraph convolution_graph(const CudnnTarget& target, const Conv2dAttributes& conv, const TensorDesc& x,
                             const TensorDesc& w, const TensorDesc& y, const ConvolutionTail& tail) {
  CudnnGraph graph(target, x.dtype);
  const auto data = graph.input(channels_last(x));
  const auto weights = graph.input(channels_last(in_dtype(x.dtype, w)));
  auto result = graph.convolution(data, weights, conv);
  TensorLayout channels = per_channel(y.shape[-1]);
  channels.dtype = x.dtype;
  std::optional<CudnnGraph::Tensor> bias, residual;
  if (tail.bias) bias = graph.input(channels);
  if (tail.residual) residual = graph.input(channels_last(y));
  if (residual) result = graph.add(result, *residual);  // cuDNN supports only this order
  if (bias) result = graph.add(result, *bias);
  if (tail.relu) result = graph.relu(result);
  graph.output(result, channels_last(y));
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
  // cuDNN's weight gradients have the data's dtype; an operation after them writes another one.
  if (dw.dtype != x.dtype) result = graph.identity(result);
  graph.output(result, channels_last(dw));
  return graph;
}

std::unique_ptr<Kernel> try_convolution(const KernelContext& context, Device& device,
                                        const std::function<CudnnGraph()>& build, std::string& reason) {
  Planning planning = plan_graph(context, device, convolution_rules(context), Search::all, build);
  reason = planning.reason;
  if (!planning.planned) return nullptr;
  return std::make_unique<ConvolutionKernel>(context, device, std::move(*planning.planned));
}

std::unique_ptr<Kernel> make_convolution(const KernelContext& context, Device& device,
                                         const std::function<CudnnGraph()>& build) {
  std::string reason;
  std::unique_ptr<Kernel> kernel = try_convolution(context, device, build, reason);
  if (kernel == nullptr) fail("{}: {}", describe_problem(context), reason);
  return kernel;
}

}  // namespace ptrain::cuda
