// The CPU kernel factories, one per op, each defined in kernels/<op>.cpp.
#pragma once

#include "core/exec/kernel.h"

namespace ptrain::cpu {

std::unique_ptr<Kernel> make_accumulate(const KernelContext& context);
std::unique_ptr<Kernel> make_grad_norm(const KernelContext& context);
std::unique_ptr<Kernel> make_loss_scale_update(const KernelContext& context);
std::unique_ptr<Kernel> make_optimizer_update(const KernelContext& context);
std::unique_ptr<Kernel> make_seed_gradient(const KernelContext& context);

}  // namespace ptrain::cpu
