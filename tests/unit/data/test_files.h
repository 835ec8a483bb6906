// Files that the data tests write: encoded images, compressed and indexed bytes.
#pragma once

#include "core/data/dataset.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// A smooth RGB8 picture.
std::vector<std::uint8_t> make_picture(int width, int height);
enum class JpegKind { rgb, grey, cmyk, progressive };
std::string_view to_string(JpegKind kind);
std::vector<std::uint8_t> encode_jpeg(const std::vector<std::uint8_t>& rgb, int width, int height, JpegKind kind);
/// `color_type` and `depth` as libpng names them; the value of every channel follows from the red of `rgb`.
std::vector<std::uint8_t> encode_png(const std::vector<std::uint8_t>& rgb, int width, int height, int color_type,
                                     int depth);
std::vector<std::uint8_t> gzip(std::span<const std::uint8_t> bytes);
/// An IDX file of bytes.
std::vector<std::uint8_t> make_idx(const std::vector<std::uint32_t>& dims, const std::vector<std::uint8_t>& values);

/// A sample as a batch of one.
Batch load_sample(const Dataset& data, std::int64_t index, SampleRandom random);

/// The elements of one of its tensors.
template <typename T>
std::vector<T> get_values(const Batch& sample, const char* name) {
  const auto values = sample.values<T>(name);
  return {values.begin(), values.end()};
}

struct LoadedImage {
  std::int32_t label;
  std::vector<std::uint8_t> pixels;
};

/// A sample, an image or a clip, as an epoch of seed 0 has it.
LoadedImage load_image(const Dataset& data, std::int64_t index, std::uint64_t epoch = 0);

/// The message of the exception that `call` throws; "" when it throws none.
inline std::string get_error_message(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace ptrain
