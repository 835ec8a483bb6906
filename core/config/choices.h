// The names that a configuration's enumerations have in YAML, reports and messages.
#pragma once

#include "core/config/config.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace ptrain {

/// Names of E's enumerators in their order; specialised for every enumeration of config.h.
template <typename E>
struct Choices;

template <>
struct Choices<ModelSize> {
  static constexpr std::array<std::string_view, 6> names{"tiny", "mini", "small", "medium", "base", "large"};
};
template <>
struct Choices<Stem> {
  static constexpr std::array<std::string_view, 3> names{"auto", "imagenet", "small"};
};
template <>
struct Choices<AttentionMode> {
  static constexpr std::array<std::string_view, 2> names{"flash", "math"};
};
template <>
struct Choices<GeluForm> {
  static constexpr std::array<std::string_view, 2> names{"erf", "tanh"};
};
template <>
struct Choices<DeviceKind> {
  static constexpr std::array<std::string_view, 3> names{"auto", "cpu", "cuda"};
};
template <>
struct Choices<AmpLevel> {
  static constexpr std::array<std::string_view, 3> names{"O0", "O1", "O2"};
};
template <>
struct Choices<AmpDType> {
  static constexpr std::array<std::string_view, 3> names{"auto", "bf16", "fp16"};
};
template <>
struct Choices<Tristate> {
  static constexpr std::array<std::string_view, 3> names{"auto", "true", "false"};
};
template <>
struct Choices<FusionMode> {
  static constexpr std::array<std::string_view, 3> names{"off", "full", "always"};
};
template <>
struct Choices<DataSource> {
  static constexpr std::array<std::string_view, 6> names{"idx", "image_folder", "packed", "cifar", "tsv", "synthetic"};
};
template <>
struct Choices<Padding> {
  static constexpr std::array<std::string_view, 2> names{"max_length", "none"};
};
template <>
struct Choices<Augment> {
  static constexpr std::array<std::string_view, 4> names{"auto", "none", "crop_flip", "random_resized_crop"};
};
template <>
struct Choices<OptimizerName> {
  static constexpr std::array<std::string_view, 5> names{"momentum", "sgd", "adamw", "lars", "lamb"};
};
template <>
struct Choices<ScheduleName> {
  static constexpr std::array<std::string_view, 4> names{"constant", "piecewise", "cosine", "linear"};
};
template <>
struct Choices<DistMode> {
  static constexpr std::array<std::string_view, 3> names{"auto", "parallel_graph", "multi_process"};
};

template <>
struct Choices<GradAverage> {
  static constexpr std::array<std::string_view, 2> names{"fp32", "gradient"};
};

/// The name of one enumerator: choice_name(AmpLevel::O1) is "O1".
template <typename E>
constexpr std::string_view choice_name(E value) {
  return Choices<E>::names[static_cast<std::size_t>(value)];
}

}  // namespace ptrain
