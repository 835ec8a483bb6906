// Fuses gradient nodes of neighbouring layers, which autodiff emits one layer at a time.
#pragma once

#include "core/passes/autodiff.h"

namespace ptrain {

/// The same gradients in fewer nodes: an activation's gradient moves into the linear_grad_input that computes its
/// input, and the gradient of the bias before the activation moves there with it.
Differentiated fuse_gradients(const Differentiated& differentiated);

}  // namespace ptrain
