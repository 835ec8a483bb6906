// What oneDNN computes in 8-bit integers here, for its rate alone: no op has kernels in them.
#pragma once

#include "core/exec/rate_size.h"

#include <functional>
#include <string>

namespace ptrain::cpu {

/// u8 by s8 to s32, on memory of its own; null where oneDNN has no such primitive.
std::function<void()> make_int8_product(const ProductSize& size);
std::function<void()> make_int8_convolution(const ConvolutionSize& size);

/// The newest instruction set that oneDNN uses, as its ONEDNN_MAX_CPU_ISA names it: "AVX512_CORE_BF16".
std::string instruction_set();

}  // namespace ptrain::cpu
