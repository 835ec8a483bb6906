// Operations on a primitive's sums before it stores them.
#pragma once

#include "core/cpu/onednn/onednn.h"
#include "core/ops/activation.h"

namespace ptrain::cpu {

/// activation(sums + residual_scale * previous content of the result, if `residual`). The bias is an argument of the
/// primitive itself.
struct Epilogue {
  bool residual = false;
  Activation activation = Activation::none;
  float residual_scale = 1;
  dnnl::memory::data_type residual_type = dnnl::memory::data_type::undef;  // undef: the result's
};

/// Attributes of a primitive with this epilogue and user-provided scratch memory.
dnnl::primitive_attr epilogue_attributes(const Epilogue& epilogue);

/// The same for a primitive of 8-bit integers, which takes these scales as arguments: one for the data, for the weights
/// one along each dimension in `weights_mask`, and with `scaled_result` one for the result. Throws Error{failed} where
/// oneDNN is older than 3.0, whose scales have another meaning.
dnnl::primitive_attr int8_attributes(const Epilogue& epilogue, int weights_mask, bool scaled_result);

/// The argument index of the scales of `argument`; throws as int8_attributes does.
int scales_argument(int argument);

}  // namespace ptrain::cpu
