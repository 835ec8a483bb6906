// Synthetic images of squares, discs and triangles under noise, with a mask or with boxes, and each
// figure's mask; each class has a form and a
// colour of its own.
#include "core/data/boxes/annotated_images.h"
#include "core/data/image/framing.h"
#include "core/data/synthetic.h"
#include "core/data/tensor_names.h"

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

constexpr std::int32_t no_shape = -1;

/// In a square, in px.
struct Figure {
  std::int32_t shape = 0;
  int left = 0, top = 0, side = 0;

  bool overlaps(const Figure& other) const {
    return left < other.left + other.side && other.left < left + side && top < other.top + other.side &&
           other.top < top + side;
  }
  bool covers(int x, int y) const {
    if (x < left || y < top || x >= left + side || y >= top + side) return false;
    const float half = 0.5f * static_cast<float>(side);
    const float right = static_cast<float>(x - left) + 0.5f - half, down = static_cast<float>(y - top) + 0.5f;
    switch (shape % 3) {
      case 0:
        return true;
      case 1:
        return std::hypot(right, down - half) <= half;
      default:
        return 2 * std::abs(right) <= down;
    }
  }
};

std::int32_t find_shape(const std::vector<Figure>& figures, int x, int y) {
  const auto found = std::ranges::find_if(figures, [&](const Figure& one) { return one.covers(x, y); });
  return found == figures.end() ? no_shape : found->shape;
}

/// A distinct colour for each shape.
std::uint32_t brightness(std::int32_t shape, std::size_t channel) {
  constexpr std::uint32_t background = 80;
  if (shape == no_shape) return background;
  const float turn = 2.4f * static_cast<float>(shape) + 2.0944f * static_cast<float>(channel);
  return static_cast<std::uint32_t>(104.0f + 96.0f * std::sin(turn));
}

class SyntheticShapes final : public SyntheticDataset {
 public:
  SyntheticShapes(const DataSettings& settings, Split split) : SyntheticDataset(settings, split) {
    info_.targets = settings.targets;
    info_.image_size = settings.image_size.value_or(has_masks() ? 32 : 128);
    info_.classes = settings.classes > 0 ? settings.classes : 3;
    info_.class_names = numbered_classes(info_.classes);
    info_.mean.fill(0.5f);
    info_.stddev.fill(0.25f);
    info_.framing = ImageFraming::pad;
  }

  std::vector<TensorSpec> tensors(const ImageForm& form) const override {
    std::vector<TensorSpec> all = input_tensors(info_, form.size);
    if (has_masks()) return with_masks(std::move(all), info_);
    all.push_back(placement_tensor());
    all.push_back(annotation_tensor(most_figures));
    if (wants_masks(info_.targets)) all.push_back(mask_tensor(count_most_runs(form.size.value_or(info_.image_size))));
    return all;
  }

  void load(std::int64_t index, SampleRandom, Scratch&, const SampleRow& out) const override {
    const RandomStream stream = sample_stream(index);
    const ImageSize size = out.form().size.value_or(info_.image_size);
    const std::vector<Figure> figures = draw(stream, size);
    paint(figures, stream, size, out.at<std::uint8_t>(tensor_names::images));
    if (has_masks()) return write_mask(figures, size, out.at<std::int32_t>(tensor_names::masks));
    std::vector<AnnotatedObject> objects = annotate(figures, size);
    if (wants_masks(info_.targets)) write_masks(objects, out.at<std::int32_t>(tensor_names::object_masks));
    write_objects(objects, out.at<std::int64_t>(tensor_names::annotations));
    write_placement(fit_inside(size, size), out.at<float>(tensor_names::placements));
  }

 private:
  static constexpr std::size_t most_figures = 4;
  static constexpr std::uint64_t first_noise = 64;  // random numbers before it place the figures

  bool has_masks() const { return learns(info_.targets, tensor_names::masks); }
  /// A mask's class 0 is the background.
  int shapes() const { return has_masks() ? info_.classes - 1 : info_.classes; }

  /// One to four figures that do not overlap.
  std::vector<Figure> draw(const RandomStream& stream, ImageSize size) const {
    std::vector<Figure> figures;
    if (shapes() == 0) return figures;
    const std::size_t wanted = 1 + stream.bits(0) % most_figures;
    std::uint64_t next = 1;
    for (std::size_t tries = 0; tries < 3 * wanted && figures.size() < wanted; ++tries) {
      Figure one;
      one.side =
          std::max(2, static_cast<int>((0.2f + 0.3f * stream.uniform(next)) * static_cast<float>(size.shorter_side())));
      one.left = static_cast<int>(stream.uniform(next + 1) * static_cast<float>(size.width - one.side));
      one.top = static_cast<int>(stream.uniform(next + 2) * static_cast<float>(size.height - one.side));
      one.shape = static_cast<std::int32_t>(stream.bits(next + 3) % static_cast<std::uint32_t>(shapes()));
      next += 4;
      if (std::ranges::none_of(figures, [&](const Figure& other) { return one.overlaps(other); })) {
        figures.push_back(one);
      }
    }
    return figures;
  }

  static void paint(const std::vector<Figure>& figures, const RandomStream& stream, ImageSize size,
                    std::span<std::uint8_t> pixels) {
    constexpr std::uint32_t noise = 48;
    std::size_t at = 0;
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const std::int32_t shape = find_shape(figures, x, y);
        for (std::size_t c = 0; c < 3; ++c, ++at) {
          pixels[at] = static_cast<std::uint8_t>(brightness(shape, c) + stream.bits(first_noise + at) % noise);
        }
      }
    }
  }

  static void write_mask(const std::vector<Figure>& figures, ImageSize size, std::span<std::int32_t> mask) {
    std::size_t at = 0;
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) mask[at++] = 1 + find_shape(figures, x, y);
    }
  }

  std::vector<AnnotatedObject> annotate(const std::vector<Figure>& figures, ImageSize size) const {
    std::vector<AnnotatedObject> objects;
    for (const Figure& one : figures) {
      const auto left = static_cast<double>(one.left), top = static_cast<double>(one.top);
      const auto side = static_cast<double>(one.side);
      objects.push_back({one.shape, {left, top, side, side}, side * side});
      if (wants_masks(info_.targets)) add_mask(one, size, objects.back());
    }
    return objects;
  }

  /// The pixels of a figure, which has more area without them.
  static void add_mask(const Figure& figure, ImageSize size, AnnotatedObject& object) {
    std::vector<std::uint8_t> pixels;
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) pixels.push_back(figure.covers(x, y) ? 1 : 0);
    }
    const RunLengths mask = encode_mask(pixels, size.height, size.width);
    object.mask = format_run_lengths(mask.counts);
    object.area = static_cast<double>(mask.area());
  }

  /// A figure has at most two runs in each of its columns, which are half of the image's, and one before them.
  static std::size_t count_most_runs(ImageSize size) {
    constexpr std::size_t others = 4;
    return most_figures * (static_cast<std::size_t>(size.shorter_side()) + others);
  }
};

}  // namespace

std::unique_ptr<Dataset> open_synthetic_shapes(const DataSettings& settings, Split split) {
  return std::make_unique<SyntheticShapes>(settings, split);
}

}  // namespace ptrain
