#include "core/ops/image/conv2d.h"

#include "core/cuda/kernels.h"
#include "core/cuda/kernels/conv2d/convolution.h"

namespace ptrain::cuda {

std::unique_ptr<Kernel> make_conv2d(const KernelContext& context, Device& device) {
  return make_convolution(context, device, [&] {
    return convolution_graph(CudnnTarget(device.cudnn()), context.op_as<Conv2d>().attrs(), context.inputs[0],
                             context.inputs[1], context.outputs[0]);
  });
}

}  // namespace ptrain::cuda
