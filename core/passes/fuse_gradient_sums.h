// Takes sums of gradients, which autodiff emits where a value is read twice, into what reads them.
#pragma once

#include "core/passes/autodiff.h"

namespace ptrain {

/// The same gradients without the sums at the ends of residual blocks: each is made by the batch_norm_grad that alone
/// reads it, from both of its parts. In low precision the sum is not rounded before its channels are added up.
Differentiated fuse_gradient_sums(const Differentiated& differentiated);

}  // namespace ptrain
