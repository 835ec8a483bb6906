// Gradient of a convolution with respect to its data.
#include "core/cuda/cuda_kernels.h"
#include "core/cuda/kernels/conv2d/convolution.h"
#include "core/ops/image/conv2d.h"

namespace ptrain::cuda {

std::unique_ptr<Kernel> make_conv2d_grad_input(const KernelContext& context, Device& device) {
  return make_convolution(context, device, [&] {
    return convolution_grad_input_graph(device.cudnn_target(), context.op_as<Conv2dGradInput>().attrs().conv,
                                        context.inputs[0], context.inputs[1], context.outputs[0]);
  });
}

}  // namespace ptrain::cuda
