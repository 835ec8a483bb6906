// Fuses sums of gradients, which autodiff emits where a value is read twice, into their readers.
#pragma once

#include "core/passes/autodiff.h"

namespace ptrain {

/// The same gradients without the sums at the ends of residual blocks: a batch_norm_grad that is the only reader of a
/// sum adds its two parts itself. In low precision the sum is not rounded before its channels are added up.
Differentiated fuse_gradient_sums(const Differentiated& differentiated);

}  // namespace ptrain
