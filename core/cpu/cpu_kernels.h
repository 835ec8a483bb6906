// The CPU kernel factories, one per op of op_list.h, each defined in kernels/<op>.cpp.
#pragma once

#include "core/exec/kernel.h"
#include "core/ops/op_list.h"

namespace ptrain::cpu {

#define PTRAIN_DECLARE(op) std::unique_ptr<Kernel> make_##op(const KernelContext& context);
PTRAIN_OPS(PTRAIN_DECLARE)
PTRAIN_CPU_OPS(PTRAIN_DECLARE)
#undef PTRAIN_DECLARE

}  // namespace ptrain::cpu
