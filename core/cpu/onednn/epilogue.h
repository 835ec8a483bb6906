// What a primitive does to its sums before it stores them.
#pragma once

#include "core/cpu/onednn/onednn.h"
#include "core/ops/activation.h"

namespace ptrain::cpu {

/// activation(sums + residual_scale * what the result held before, if `residual`). The bias is an argument of the
/// primitive itself.
struct Epilogue {
  bool residual = false;
  Activation activation = Activation::none;
  float residual_scale = 1;
  dnnl::memory::data_type residual_type = dnnl::memory::data_type::undef;  // undef: the result's
};

/// Attributes of a primitive with this epilogue that asks for its scratch memory instead of allocating it.
dnnl::primitive_attr epilogue_attributes(const Epilogue& epilogue);

/// The same for a primitive of 8-bit integers, which takes these scales as arguments: one of the data, of the weights
/// one along each dimension in `weights_mask`, and with `scaled_result` one of the result. Throws Error{failed} where
/// oneDNN is older than 3.0, whose scales mean something else.
dnnl::primitive_attr int8_attributes(const Epilogue& epilogue, int weights_mask, bool scaled_result);

/// The argument that carries the scales of `argument`; throws as int8_attributes does.
int scales_argument(int argument);

}  // namespace ptrain::cpu
