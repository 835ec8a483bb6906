// A oneDNN primitive for 8-bit integers, with its scales as arguments.
#pragma once

#include "core/cpu/onednn/epilogue.h"
#include "core/cpu/onednn/onednn_operation.h"
#include "core/ops/quantization/quantized_format.h"

#include <optional>

namespace ptrain::cpu {

/// `desc` was made with int8_attributes; the weights' scales are among `inputs`.
template <typename Primitive, typename Desc>
std::unique_ptr<Kernel> int8_operation(const dnnl::engine& engine, const Desc& desc, const std::string& name,
                                       const std::vector<Binding>& inputs, const Binding& result,
                                       const QuantizedFormat& x, const std::optional<QuantizedFormat>& y) {
  auto operation = std::make_unique<OnednnOperation>(engine, Primitive(desc), desc.scratchpad_desc(), inputs,
                                                     std::vector<Binding>{result}, name);
  operation->add_constant(scales_argument(DNNL_ARG_SRC), x.scale);
  if (y) operation->add_constant(scales_argument(DNNL_ARG_DST), y->scale);
  return operation;
}

}  // namespace ptrain::cpu
