// Synthetic images with boxes: squares, discs and triangles on a background, each class of another form and colour,
// under noise.
#include "core/data/boxes/annotated_images.h"
#include "core/data/boxes/fit_transform.h"
#include "core/data/sources.h"

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

class SyntheticBoxes final : public Dataset {
 public:
  SyntheticBoxes(const DataSettings& settings, Split split)
      : settings_(settings), split_(split), size_(synthetic_size(settings, split)) {
    info_.targets = {tensor_names::annotations};
    info_.fit = ImageFit::pad;
    info_.image_size = settings.image_size.value_or(128);
    info_.classes = settings.classes > 0 ? settings.classes : 3;
    info_.class_names = numbered_classes(info_.classes);
    info_.mean.fill(0.5f);
    info_.stddev.fill(0.25f);
  }

  std::int64_t size() const override { return size_; }
  std::int32_t label(std::int64_t) const override { return 0; }

  std::vector<TensorSpec> tensors(const ImageForm& form) const override {
    std::vector<TensorSpec> all = input_tensors(info_, form.size);
    all.push_back(placement_tensor());
    all.push_back(annotation_tensor(most_shapes));
    return all;
  }

  void load(std::int64_t index, SampleRandom, Scratch&, const SampleRow& out) const override {
    const RandomStream stream = synthetic_stream(settings_, split_, index);
    const ImageSize size = out.form().size.value_or(info_.image_size);
    const std::vector<Figure> shapes = draw(stream, size);
    paint(shapes, stream, size, out.at<std::uint8_t>(tensor_names::images));
    std::vector<AnnotatedObject> objects;
    for (const Figure& one : shapes) {
      objects.push_back({one.label,
                         {double(one.left), double(one.top), double(one.side), double(one.side)},
                         double(one.side) * one.side});
    }
    write_objects(objects, out.at<std::int64_t>(tensor_names::annotations));
    fit_into(size, size.width, size.height).write(out.at<float>(tensor_names::placements));
  }

 private:
  static constexpr std::size_t most_shapes = 4;
  static constexpr std::uint64_t first_noise = 64;  // random numbers before it place the shapes

  /// In a square, in px.
  struct Figure {
    std::int32_t label = 0;
    int left = 0, top = 0, side = 0;

    bool overlaps(const Figure& other) const {
      return left < other.left + other.side && other.left < left + side && top < other.top + other.side &&
             other.top < top + side;
    }
    bool covers(int x, int y) const {
      if (x < left || y < top || x >= left + side || y >= top + side) return false;
      const float half = 0.5f * static_cast<float>(side);
      const float right = static_cast<float>(x - left) + 0.5f - half, down = static_cast<float>(y - top) + 0.5f;
      switch (label % 3) {
        case 0:
          return true;
        case 1:
          return std::hypot(right, down - half) <= half;
        default:
          return 2 * std::abs(right) <= down;
      }
    }
  };

  /// One to four shapes that do not overlap.
  std::vector<Figure> draw(const RandomStream& stream, ImageSize size) const {
    std::vector<Figure> shapes;
    const std::size_t wanted = 1 + stream.bits(0) % most_shapes;
    std::uint64_t next = 1;
    for (std::size_t tries = 0; tries < 3 * wanted && shapes.size() < wanted; ++tries) {
      Figure one;
      one.side =
          std::max(2, static_cast<int>((0.2f + 0.3f * stream.uniform(next)) * static_cast<float>(size.shorter_side())));
      one.left = static_cast<int>(stream.uniform(next + 1) * static_cast<float>(size.width - one.side));
      one.top = static_cast<int>(stream.uniform(next + 2) * static_cast<float>(size.height - one.side));
      one.label = static_cast<std::int32_t>(stream.bits(next + 3) % static_cast<std::uint32_t>(info_.classes));
      next += 4;
      if (std::ranges::none_of(shapes, [&](const Figure& other) { return one.overlaps(other); })) shapes.push_back(one);
    }
    return shapes;
  }

  static void paint(const std::vector<Figure>& shapes, const RandomStream& stream, ImageSize size,
                    std::span<std::uint8_t> pixels) {
    constexpr std::uint32_t background = 80, noise = 48;
    std::size_t at = 0;
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const auto shape = std::ranges::find_if(shapes, [&](const Figure& one) { return one.covers(x, y); });
        for (std::size_t c = 0; c < 3; ++c, ++at) {
          const std::uint32_t colour = shape == shapes.end() ? background : brightness(shape->label, c);
          pixels[at] = static_cast<std::uint8_t>(colour + stream.bits(first_noise + at) % noise);
        }
      }
    }
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

std::unique_ptr<Dataset> open_synthetic_boxes(const DataSettings& settings, Split split) {
  return std::make_unique<SyntheticBoxes>(settings, split);
}

}  // namespace ptrain
