// 8-bit integer work in oneDNN, only to measure its rate.
#pragma once

#include "core/exec/rate_size.h"

#include <functional>
#include <string>

namespace ptrain::cpu {

/// u8 by s8 to s32, with its own memory; null where oneDNN has no such primitive.
std::function<void()> make_int8_product(const ProductSize& size);
std::function<void()> make_int8_convolution(const ConvolutionSize& size);

/// The newest instruction set that oneDNN uses, as its ONEDNN_MAX_CPU_ISA names it: "AVX512_CORE_BF16".
std::string instruction_set();

/// Whether oneDNN uses instructions that multiply 8-bit integers and accumulate in 32 bits (VNNI, AMX).
bool has_int8_instructions();

}  // namespace ptrain::cpu
