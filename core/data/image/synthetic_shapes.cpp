// Synthetic images with a mask: a disc and a bar on a background, each with its class, under noise.
#include "core/data/sources.h"
#include "core/data/tensor_names.h"

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

/// Class 0 is the background.
class SyntheticShapes final : public Dataset {
 public:
  SyntheticShapes(const DataSettings& settings, Split split)
      : settings_(settings), split_(split), size_(synthetic_size(settings, split)) {
    info_.targets = {tensor_names::masks};
    info_.image_size = settings.image_size.value_or(32);
    info_.classes = settings.classes > 0 ? settings.classes : 3;
    info_.class_names = numbered_classes(info_.classes);
    info_.mean.fill(0.5f);
    info_.stddev.fill(0.25f);
    info_.framing = ImageFraming::pad;
  }

  std::int64_t size() const override { return size_; }
  std::int32_t label(std::int64_t) const override { return 0; }

  std::vector<TensorSpec> tensors(const ImageForm& form) const override {
    return with_masks(input_tensors(info_, form.size), info_);
  }

  void load(std::int64_t index, SampleRandom, Scratch&, const SampleRow& out) const override {
    const RandomStream stream = synthetic_stream(settings_, split_, index);
    const ImageSize size = out.form().size.value_or(info_.image_size);
    const auto pixels = out.at<std::uint8_t>(tensor_names::images);
    const auto mask = out.at<std::int32_t>(tensor_names::masks);
    const Shapes shapes = draw(stream, size);
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const std::size_t at =
            static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) + static_cast<std::size_t>(x);
        mask[at] = class_at(shapes, static_cast<float>(x), static_cast<float>(y));
        for (std::size_t c = 0; c < 3; ++c) {
          const std::uint32_t noise = stream.bits(first_noise + 3 * at + c) % 48;
          pixels[3 * at + c] = static_cast<std::uint8_t>(brightness(mask[at], c) + noise);
        }
      }
    }
  }

 private:
  static constexpr std::uint64_t first_noise = 16;  // random numbers before it place the shapes

  struct Shapes {
    float x, y, radius;  // of the disc
    float top, bottom;   // of the bar
    std::int32_t disc, bar;
  };

  Shapes draw(const RandomStream& stream, ImageSize size) const {
    const auto height = static_cast<float>(size.height), width = static_cast<float>(size.width);
    const auto shape_class = [&](std::uint64_t element) {
      const auto others = static_cast<std::uint32_t>(info_.classes - 1);
      return others == 0 ? 0 : 1 + static_cast<std::int32_t>(stream.bits(element) % others);
    };
    const float top = height * stream.uniform(3);
    return {width * stream.uniform(0),
            height * stream.uniform(1),
            static_cast<float>(size.shorter_side()) * (0.1f + 0.2f * stream.uniform(2)),
            top,
            top + height * 0.15f,
            shape_class(4),
            shape_class(5)};
  }

  static std::int32_t class_at(const Shapes& shapes, float x, float y) {
    if (std::hypot(x - shapes.x, y - shapes.y) <= shapes.radius) return shapes.disc;
    return y >= shapes.top && y <= shapes.bottom ? shapes.bar : 0;
  }

  /// A distinct colour for each class.
  static std::uint32_t brightness(std::int32_t label, std::size_t channel) {
    const float turn = 2.4f * static_cast<float>(label) + 2.0944f * static_cast<float>(channel);
    return static_cast<std::uint32_t>(104.0f + 96.0f * std::sin(turn));
  }

  DataSettings settings_;
  Split split_;
  std::int64_t size_;
};

}  // namespace

std::unique_ptr<Dataset> open_synthetic_shapes(const DataSettings& settings, Split split) {
  return std::make_unique<SyntheticShapes>(settings, split);
}

}  // namespace ptrain
