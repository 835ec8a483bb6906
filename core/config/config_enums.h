// Enumerations used only by the configuration, with their names in YAML, reports and messages; those that other code
// uses too are in core/base/enums.h.
#pragma once

#include "core/base/enums.h"

namespace ptrain {

enum class ModelSize { tiny, mini, small, medium, base, large };
template <>
struct EnumNames<ModelSize> {
  static constexpr std::array<std::string_view, 6> names{"tiny", "mini", "small", "medium", "base", "large"};
};

enum class GeluForm { automatic, erf, tanh };
template <>
struct EnumNames<GeluForm> {
  static constexpr std::array<std::string_view, 3> names{"auto", "erf", "tanh"};
};

enum class AmpDType { automatic, bf16, fp16 };
template <>
struct EnumNames<AmpDType> {
  static constexpr std::array<std::string_view, 3> names{"auto", "bf16", "fp16"};
};

enum class Tristate { automatic, yes, no };
template <>
struct EnumNames<Tristate> {
  static constexpr std::array<std::string_view, 3> names{"auto", "true", "false"};
};

/// JPEG decoder.
enum class Decoder { automatic, cpu, gpu };
template <>
struct EnumNames<Decoder> {
  static constexpr std::array<std::string_view, 3> names{"auto", "cpu", "gpu"};
};

/// Form of a sample, used to match models with data sources: a DataKind, with clips distinct from single images.
enum class SampleForm { image, clip, text, table, tokens };
template <>
struct EnumNames<SampleForm> {
  static constexpr std::array<std::string_view, 5> names{"image", "clip", "text", "table", "tokens"};
};

enum class DistMode { automatic, parallel_graph, multi_process };
template <>
struct EnumNames<DistMode> {
  static constexpr std::array<std::string_view, 3> names{"auto", "parallel_graph", "multi_process"};
};

}  // namespace ptrain
