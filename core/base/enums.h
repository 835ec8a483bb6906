// Enumerations that the configuration and other parts of the program share, each with its names in YAML, reports and
// messages. Those that only the configuration uses are in core/config/config_enums.h.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace ptrain {

/// Names of E's enumerators in their order; specialised next to every enumeration that has names.
template <typename E>
struct EnumNames;

/// The name of one enumerator: enum_name(AmpLevel::O1) is "O1".
template <typename E>
constexpr std::string_view enum_name(E value) {
  return EnumNames<E>::names[static_cast<std::size_t>(value)];
}

/// The enumerator of that name; none when there is no such name.
template <typename E>
constexpr std::optional<E> choice_from_name(std::string_view name) {
  for (std::size_t i = 0; i < EnumNames<E>::names.size(); ++i) {
    if (EnumNames<E>::names[i] == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

/// Automatic mixed precision as Paddle names it. O0: fp32. O1: the white list in low precision. O2: almost everything,
/// with fp32 master weights.
enum class AmpLevel { O0, O1, O2 };
template <>
struct EnumNames<AmpLevel> {
  static constexpr std::array<std::string_view, 3> names{"O0", "O1", "O2"};
};

/// The first layers of a ResNet. automatic: small for images of 64 px and below; imagenet: 7x7 stride 2 and max
/// pooling; small: 3x3 stride 1 without pooling.
enum class Stem { automatic, imagenet, small };
template <>
struct EnumNames<Stem> {
  static constexpr std::array<std::string_view, 3> names{"auto", "imagenet", "small"};
};

/// flash never stores the S x S scores (Dao et al., "FlashAttention", 2022); math stores one head's in the workspace.
/// Both drop the same weights on every backend, unless a library's flash draws its own random numbers; flash_mask is
/// flash that reads the dropout mask from memory instead.
enum class AttentionAlgorithm { flash, flash_mask, math };
template <>
struct EnumNames<AttentionAlgorithm> {
  static constexpr std::array<std::string_view, 3> names{"flash", "flash_mask", "math"};
};

/// full: fuses neighbouring ops, and folds norms into convolutions where the backend is faster for it; always: folds
/// norms without that test.
enum class Fusion { off, full, always };
template <>
struct EnumNames<Fusion> {
  static constexpr std::array<std::string_view, 3> names{"off", "full", "always"};
};

/// Which values backward computes again instead of keeping them (passes/recompute.h).
enum class Recompute { none, block, selective };
template <>
struct EnumNames<Recompute> {
  static constexpr std::array<std::string_view, 3> names{"none", "block", "selective"};
};

/// Character encoding of a text file. automatic: detected from the bytes (core/data/text/text_encoding.h).
enum class TextEncoding { automatic, utf8, gb18030, utf16, big5, windows1252 };
template <>
struct EnumNames<TextEncoding> {
  static constexpr std::array<std::string_view, 6> names{"auto", "utf-8", "gb18030", "utf-16", "big5", "windows-1252"};
};

/// How sequences of different lengths share a batch. max_length: each is padded; none: they are concatenated along one
/// axis of tokens.
enum class Padding { max_length, none };
template <>
struct EnumNames<Padding> {
  static constexpr std::array<std::string_view, 2> names{"max_length", "none"};
};

/// Augmentation of training images. `automatic` is random_resized_crop for folders, shards and packs above 64 px,
/// crop_flip for those up to 64 px and CIFAR, none for IDX and synthetic images. With label maps random_resized_crop is
/// SegmentationTransform's, at any size.
enum class Augmentation { automatic, none, crop_flip, random_resized_crop };
template <>
struct EnumNames<Augmentation> {
  static constexpr std::array<std::string_view, 4> names{"auto", "none", "crop_flip", "random_resized_crop"};
};

/// How often a sample is drawn in training. natural: all samples equally often; balanced: all classes equally often.
enum class Sampling { natural, balanced };
template <>
struct EnumNames<Sampling> {
  static constexpr std::array<std::string_view, 2> names{"natural", "balanced"};
};

enum class OptimizerKind { momentum, sgd, adamw, lars, lamb, adam, adagrad, rmsprop, muon };
template <>
struct EnumNames<OptimizerKind> {
  static constexpr std::array<std::string_view, 9> names{"momentum", "sgd",     "adamw",   "lars", "lamb",
                                                         "adam",     "adagrad", "rmsprop", "muon"};
};

/// Muon's factor for a weight's learning rate, by the weight's shape (torch.optim.Muon's adjust_lr_fn).
enum class MuonScale { original, match_rms_adamw };
template <>
struct EnumNames<MuonScale> {
  static constexpr std::array<std::string_view, 2> names{"original", "match_rms_adamw"};
};

enum class ScheduleKind { constant, piecewise, cosine, linear, polynomial, inverse_sqrt, warmup_stable_decay };
template <>
struct EnumNames<ScheduleKind> {
  static constexpr std::array<std::string_view, 7> names{
      "constant", "piecewise", "cosine", "linear", "polynomial", "inverse_sqrt", "warmup_stable_decay"};
};

/// Shape of the final decay of a warmup_stable_decay schedule.
enum class DecayShape { linear, cosine, one_minus_sqrt };
template <>
struct EnumNames<DecayShape> {
  static constexpr std::array<std::string_view, 3> names{"linear", "cosine", "one_minus_sqrt"};
};

/// Precision in which gradients of low-precision parameters (O2) are averaged over ranks.
enum class GradAverage { fp32, gradient };
template <>
struct EnumNames<GradAverage> {
  static constexpr std::array<std::string_view, 2> names{"fp32", "gradient"};
};

}  // namespace ptrain
