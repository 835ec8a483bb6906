// Gradient of a convolution with respect to its weights.
#include "core/cuda/kernels.h"
#include "core/cuda/kernels/conv2d/convolution.h"
#include "core/ops/image/conv2d.h"

namespace ptrain::cuda {

std::unique_ptr<Kernel> make_conv2d_grad_weight(const KernelContext& context, Device& device) {
  return make_convolution(context, device, [&] {
    return convolution_grad_weight_graph(CudnnTarget(device.cudnn()), context.op_as<Conv2dGradWeight>().attrs().conv,
                                         context.inputs[0], context.inputs[1], context.outputs[0]);
  });
}

}  // namespace ptrain::cuda
