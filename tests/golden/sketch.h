// The hashed weights, batches and gradient sketches of the model goldens; tests/golden/reference.py is the same in
// Python.
#pragma once

#include "core/base/shape.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain::golden {

inline constexpr int steps = 10;     // batches, and losses, of a golden
inline constexpr int sketches = 16;  // sketches of a gradient

/// The random numbers of a name: splitmix64 of FNV-1a(name) + (index + 1) * golden ratio.
class Hash {
 public:
  explicit Hash(std::string_view name) {
    for (const char c : name) seed_ = (seed_ ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  std::uint64_t operator()(std::uint64_t index) const {
    std::uint64_t z = seed_ + (index + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// In [-1, 1), a multiple of 2^-23.
  float uniform(std::uint64_t index) const { return static_cast<float>((*this)(index) >> 40) * 0x1p-23f - 1.0f; }

 private:
  std::uint64_t seed_ = 0xCBF29CE484222325u;
};

/// A parameter under its name and shape in PyTorch (filters K,C,R,S): what reference.weight makes.
std::vector<float> weight(std::string_view name, const Shape& shape);

/// Image batch `step`: u8 [batch, size, size, 3] of 8x8 px blocks.
std::vector<std::uint8_t> images(int step, int batch, int size);
/// labels [batch] of batch `step`.
std::vector<std::int32_t> labels(int step, int batch, int classes);

/// masks [batch, size, size] of batch `step`, in 8x8 px blocks: classes, and -1 as often as each.
std::vector<std::int32_t> masks(int step, int batch, int size, int classes);

/// Maps [batch, size, size] of batch `step`, in 8x8 px blocks with one of `values` each, hashed by `name`.
std::vector<float> maps(const std::string& name, int step, int batch, int size, std::span<const float> values);

inline constexpr int most_characters = 6;
/// characters [batch, most_characters] of batch `step`: classes from 1 on, and -1 after each text.
std::vector<std::int32_t> characters(int step, int batch, int classes);

inline constexpr int objects_per_image = 3;
/// Objects of batch `step`, image by image: class, left, top, width, height.
std::vector<std::array<std::int64_t, 5>> objects(int step, int batch, int size, int classes);

/// The lower left half of an object's box in an image of `size` x `size` px, row by row.
std::vector<std::uint8_t> draw_mask(const std::array<std::int64_t, 5>& object, int size);

struct TextBatch {
  std::vector<std::int32_t> ids, token_types;  // [batch, length]
  std::vector<std::int32_t> lengths;           // [batch]
};
/// `prefix`: of the names by which ids and lengths are hashed.
TextBatch text(int step, int batch, int length, int vocab_size, const std::string& prefix = "");

struct ClickBatch {
  std::vector<float> numbers;            // [batch, numbers]
  std::vector<std::int32_t> categories;  // [batch, categories], below hash_buckets
};
ClickBatch clicks(int step, int batch, int numbers, int categories, std::int64_t hash_buckets);
/// Leaves none to all of the first ids of each bag [bag_size] of batch `step`; -1 after them.
void empty_bags(std::vector<std::int32_t>& ids, int step, int bag_size);

struct VideoBatch {
  std::vector<float> rgb, audio;     // [batch, frames, features], in [-2, 2)
  std::vector<float> mask;           // [batch, frames]
  std::vector<std::int32_t> labels;  // [batch, classes], 0 or 1
};
VideoBatch videos(int step, int batch, int frames, int classes);

/// Sums of `values` (PyTorch's layout) under the hashed signs of `name`.
std::array<double, sketches> sketch(std::string_view name, std::span<const float> values);

/// The relative L2 error of a gradient that the two sketches show; `norm` is the reference's L2 norm.
inline double relative_error(const std::array<double, sketches>& ours, const std::array<double, sketches>& reference,
                             double norm) {
  double squares = 0;
  for (int k = 0; k < sketches; ++k) {
    const double difference = ours[static_cast<std::size_t>(k)] - reference[static_cast<std::size_t>(k)];
    squares += difference * difference;
  }
  return std::sqrt(squares / sketches) / norm;
}

}  // namespace ptrain::golden
