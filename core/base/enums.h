// EnumNames that a configuration offers and other rooms act on: each enumeration with its names in YAML, reports and
// messages. Those that only a configuration means are in core/config/choices.h.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace ptrain {

/// Names of E's enumerators in their order; specialised beside every enumeration that has names.
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

/// How a ResNet begins. automatic: small for images of 64 px and below; imagenet: 7x7 stride 2 and max pooling; small:
/// 3x3 stride 1 without pooling.
enum class Stem { automatic, imagenet, small };
template <>
struct EnumNames<Stem> {
  static constexpr std::array<std::string_view, 3> names{"auto", "imagenet", "small"};
};

/// flash never holds the S x S scores (Dao et al., "FlashAttention", 2022); math holds one head's in the workspace.
/// Dropout drops the same weights in both and on every backend, but for flash where a library draws them itself;
/// flash_mask is flash where none does, and is given a mask in memory instead.
enum class AttentionAlgorithm { flash, flash_mask, math };
template <>
struct EnumNames<AttentionAlgorithm> {
  static constexpr std::array<std::string_view, 3> names{"flash", "flash_mask", "math"};
};

/// full: neighbouring ops, and norms into convolutions where the backend is faster so; always: norms without asking.
enum class Fusion { off, full, always };
template <>
struct EnumNames<Fusion> {
  static constexpr std::array<std::string_view, 3> names{"off", "full", "always"};
};

/// How a text file's bytes are letters. automatic: as the bytes look (core/data/text/text_encoding.h).
enum class TextEncoding { automatic, utf8, gb18030, utf16, big5, windows1252 };
template <>
struct EnumNames<TextEncoding> {
  static constexpr std::array<std::string_view, 6> names{"auto", "utf-8", "gb18030", "utf-16", "big5", "windows-1252"};
};

/// How sequences of different lengths share a batch. max_length: each is filled up; none: one lies behind the other on
/// one axis of tokens.
enum class Padding { max_length, none };
template <>
struct EnumNames<Padding> {
  static constexpr std::array<std::string_view, 2> names{"max_length", "none"};
};

/// How training images are varied. `automatic` is random_resized_crop for folders, shards and packs above 64 px,
/// crop_flip for those up to 64 px and CIFAR, none for IDX and synthetic images.
enum class Augmentation { automatic, none, crop_flip, random_resized_crop };
template <>
struct EnumNames<Augmentation> {
  static constexpr std::array<std::string_view, 4> names{"auto", "none", "crop_flip", "random_resized_crop"};
};

/// How often a sample of a class is drawn in training. natural: as all others; balanced: so that every class is drawn
/// as often as every other.
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

/// What Muon multiplies a weight's learning rate by, by its shape (torch.optim.Muon's adjust_lr_fn).
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

/// How a warmup_stable_decay schedule falls at its end.
enum class DecayShape { linear, cosine, one_minus_sqrt };
template <>
struct EnumNames<DecayShape> {
  static constexpr std::array<std::string_view, 3> names{"linear", "cosine", "one_minus_sqrt"};
};

/// In what gradients of low-precision parameters (O2) are averaged over ranks.
enum class GradAverage { fp32, gradient };
template <>
struct EnumNames<GradAverage> {
  static constexpr std::array<std::string_view, 2> names{"fp32", "gradient"};
};

}  // namespace ptrain
