// What a primitive does to its sums before it stores them.
#pragma once

#include "core/cpu/onednn/onednn.h"
#include "core/ops/activation.h"

namespace ptrain::cpu {

/// activation(sums + what the result held before, if `residual`). The bias is an argument of the primitive itself.
struct Epilogue {
  bool residual = false;
  Activation activation = Activation::none;
};

/// Attributes of a primitive with this epilogue that asks for its scratch memory instead of allocating it.
dnnl::primitive_attr epilogue_attributes(const Epilogue& epilogue);

}  // namespace ptrain::cpu
