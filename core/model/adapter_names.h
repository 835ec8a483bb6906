// Names of LoRA's parameters, which are PEFT's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ptrain::adapter_names {

inline constexpr const char* a = ".lora_A.weight";  // after the layer's name: [rank, inputs]
inline constexpr const char* b = ".lora_B.weight";  // [outputs, rank]
/// Every parameter but those (core/base/name_pattern.h).
inline constexpr const char* all_others = "!*.lora_?.weight";

/// The layer of a weight: its name without ".weight"; none of another parameter.
inline std::optional<std::string> find_layer(std::string_view parameter) {
  constexpr std::string_view suffix = ".weight";
  if (!parameter.ends_with(suffix)) return std::nullopt;
  return std::string(parameter.substr(0, parameter.size() - suffix.size()));
}

}  // namespace ptrain::adapter_names
