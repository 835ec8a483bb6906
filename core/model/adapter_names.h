// Names of LoRA's parameters, which are PEFT's.
#pragma once

namespace ptrain::adapter_names {

inline constexpr const char* a = ".lora_A.weight";  // after the layer's name: [rank, inputs]
inline constexpr const char* b = ".lora_B.weight";  // [outputs, rank]
/// Every parameter but those (core/base/name_pattern.h).
inline constexpr const char* all_others = "!*.lora_?.weight";

}  // namespace ptrain::adapter_names
