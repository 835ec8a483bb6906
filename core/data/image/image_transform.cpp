// Plans an image's crop first, so that the decoder produces only what the plan uses.
#include "core/data/image/image_transform.h"

#include "core/data/file_bytes.h"
#include "core/data/image/bmp_image.h"
#include "core/data/image/orientation.h"
#include "core/data/image/png_image.h"
#include "core/data/image/webp_image.h"
#include "core/data/sources.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ptrain {
namespace {

ImageSize photo_size(const DataSettings& settings) { return settings.image_size.value_or(224); }

/// `aspect` is the target's width over its height.
Box random_area(int width, int height, float aspect, float smallest, SampleRandom& random) {
  const float area = static_cast<float>(width) * static_cast<float>(height);
  const float log_ratio = std::log(4.0f / 3.0f);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const float target = area * random.uniform(smallest, 1.0f);
    const float ratio = aspect * std::exp(random.uniform(-log_ratio, log_ratio));
    const int w = static_cast<int>(std::lround(std::sqrt(target * ratio)));
    const int h = static_cast<int>(std::lround(std::sqrt(target / ratio)));
    if (w > 0 && w <= width && h > 0 && h <= height) {
      const int y = random.below(height - h + 1);
      const int x = random.below(width - w + 1);
      return {x, y, w, h};
    }
  }
  // A very long image: uses the central part at the nearest allowed ratio.
  const float ratio = static_cast<float>(width) / static_cast<float>(height);
  int w = width;
  int h = height;
  const float narrowest = 0.75f * aspect, widest = 4.0f / 3.0f * aspect;
  if (ratio < narrowest) h = std::max(1, static_cast<int>(std::lround(static_cast<float>(width) / narrowest)));
  if (ratio > widest) w = std::max(1, static_cast<int>(std::lround(static_cast<float>(height) * 4.0f / 3.0f * aspect)));
  return {(width - w) / 2, (height - h) / 2, w, h};
}

/// Resizes until the image just covers `target`, and crops the centre.
CropDraw centre_crop(int width, int height, ImageSize target, ImageSize size) {
  CropDraw plan;
  plan.crop = {0, 0, width, height};
  const std::int64_t by_width = std::int64_t{target.width} * height, by_height = std::int64_t{target.height} * width;
  const bool width_fits = by_width >= by_height;  // so the height covers the target too
  plan.resized_width = width_fits ? target.width : static_cast<int>(by_height / height);
  plan.resized_height = width_fits ? static_cast<int>(by_width / width) : target.height;
  plan.left = static_cast<int>(std::nearbyint((plan.resized_width - size.width) / 2.0));
  plan.top = static_cast<int>(std::nearbyint((plan.resized_height - size.height) / 2.0));
  return plan;
}

void shift_pixels(const std::uint8_t* from, ImageSize size, int shift_x, int shift_y, std::uint8_t* to) {
  const auto row_bytes = static_cast<std::size_t>(size.width) * 3;
  std::memset(to, 0, row_bytes * static_cast<std::size_t>(size.height));
  const int first_x = std::max(0, shift_x);
  const auto bytes = static_cast<std::size_t>(size.width - std::abs(shift_x)) * 3;
  for (int y = std::max(0, shift_y); y < size.height + std::min(0, shift_y); ++y) {
    std::memcpy(to + row_bytes * static_cast<std::size_t>(y) + 3 * first_x,
                from + row_bytes * static_cast<std::size_t>(y - shift_y) + 3 * (first_x - shift_x), bytes);
  }
}

/// The largest reduction inside the decoder that leaves at least `oversampling` times the resized size.
int decoder_reduction(const CropDraw& plan, int oversampling) {
  for (const int denominator : {8, 4, 2}) {
    if (plan.crop.width / denominator >= plan.resized_width * oversampling &&
        plan.crop.height / denominator >= plan.resized_height * oversampling) {
      return denominator;
    }
  }
  return 1;
}

/// `begin` and `length` of the crop at the reduced size, at which the image has `side` pixels.
std::pair<int, int> reduced(int begin, int length, int denominator, int side) {
  const int first = std::min(begin / denominator, side - 1);
  const int count = std::clamp((length + denominator / 2) / denominator, 1, side - first);
  return {first, count};
}

Orientation find_orientation(std::span<const std::uint8_t> file, ImageOrientation wanted) {
  return wanted == ImageOrientation::exif ? Orientation::find(file) : Orientation();
}

}  // namespace

ImageTransform ImageTransform::in_form(const ImageForm& form) const {
  ImageTransform other = *this;
  other.smallest_crop_ = form.smallest_crop;
  if (!form.size.is_given() || form.size == size_) return other;
  const auto in_proportion = [](int reach, int side, int own) { return std::max(1, (reach * side + own / 2) / own); };
  other.size_ = form.size;
  other.reach_ = {in_proportion(reach_.height, form.size.height, size_.height),
                  in_proportion(reach_.width, form.size.width, size_.width)};
  return other;
}

CropDraw ImageTransform::plan(int width, int height, SampleRandom& random) const {
  if (augment_ == Augmentation::random_resized_crop) {
    CropDraw plan;
    const float aspect = static_cast<float>(size_.width) / static_cast<float>(size_.height);
    plan.crop = random_area(width, height, aspect, smallest_crop_, random);
    plan.resized_width = size_.width;
    plan.resized_height = size_.height;
    plan.mirror = random.below(2) == 0 ? Mirror::no : Mirror::horizontal;
    return plan;
  }
  const bool crops_flip = augment_ == Augmentation::crop_flip;
  CropDraw plan = centre_crop(width, height, crops_flip ? size_ : resized_to(), size_);
  if (crops_flip) {
    plan.shift_x = random.below(2 * reach_.width + 1) - reach_.width;
    plan.shift_y = random.below(2 * reach_.height + 1) - reach_.height;
    plan.mirror = random.below(2) == 0 ? Mirror::no : Mirror::horizontal;
  }
  return plan;
}

ImageSize ImageTransform::resized_to() const {
  const auto with_margin = [](int side) { return (side * 256 + 112) / 224; };
  return size_.is_small() ? size_ : ImageSize(with_margin(size_.height), with_margin(size_.width));
}

void ImageTransform::finish(const ImageView& source, const CropDraw& plan, const ResizeAxis& horizontal,
                            const ResizeAxis& vertical, Scratch& scratch, std::span<std::uint8_t> out) const {
  if (plan.shift_x == 0 && plan.shift_y == 0) {
    resize_bilinear(source, horizontal, vertical, plan.mirror, scratch, out.data());
    return;
  }
  scratch.resized.resize(out.size());
  resize_bilinear(source, horizontal, vertical, plan.mirror, scratch, scratch.resized.data());
  shift_pixels(scratch.resized.data(), size_, plan.shift_x, plan.shift_y, out.data());
}

void ImageTransform::apply(const ImageView& source, int width, int height, SampleRandom& random, Scratch& scratch,
                           std::span<std::uint8_t> out) const {
  const CropDraw drawn = plan(width, height, random);
  ImageView crop = source;
  crop.x -= drawn.crop.x;
  crop.y -= drawn.crop.y;
  finish(crop, drawn, {drawn.crop.width, drawn.resized_width, drawn.left, size_.width},
         {drawn.crop.height, drawn.resized_height, drawn.top, size_.height}, scratch, out);
}

void ImageTransform::apply_encoded(std::span<const std::uint8_t> bytes, const std::string& name, SampleRandom& random,
                                   Scratch& scratch, std::span<std::uint8_t> out) const {
  if (is_jpeg(bytes)) {
    apply_jpeg(bytes, name, random, scratch, out);
  } else {
    const DecodedImage image = decode_image(bytes, name, scratch.pixels, orientation_);
    apply(image.view, image.width, image.height, random, scratch, out);
  }
}

void ImageTransform::apply_jpeg(std::span<const std::uint8_t> bytes, const std::string& name, SampleRandom& random,
                                Scratch& scratch, std::span<std::uint8_t> out) const {
  JpegDecoder decoder(bytes, name);
  const int stored_width = decoder.width(), stored_height = decoder.height();
  const Orientation orientation = find_orientation(bytes, orientation_);
  const auto [width, height] = orientation.seen(stored_width, stored_height);
  if (scratch.decoder != nullptr && decoder.is_plain()) {
    const std::span<const std::uint8_t> pixels = scratch.decoder->decode(bytes, stored_width, stored_height);
    if (!pixels.empty()) {
      ++scratch.device_decoded;
      const ImageView stored{pixels.data(), std::size_t{3} * static_cast<std::size_t>(stored_width)};
      return apply(orientation.turn(stored, stored_width, stored_height, scratch.turned), width, height, random,
                   scratch, out);
    }
  }
  const CropDraw drawn = plan(width, height, random);
  // Evaluation keeps twice the pixels, so that its result stays close to a full decode and resize.
  const int reduction = decoder_reduction(drawn, augment_ == Augmentation::random_resized_crop ? 1 : 2);
  decoder.set_scale(reduction);
  const auto scaled = [reduction](int side) { return (side + reduction - 1) / reduction; };
  const auto [x, crop_width] = reduced(drawn.crop.x, drawn.crop.width, reduction, scaled(width));
  const auto [y, crop_height] = reduced(drawn.crop.y, drawn.crop.height, reduction, scaled(height));

  const ResizeAxis horizontal{crop_width, drawn.resized_width, drawn.left, size_.width};
  const ResizeAxis vertical{crop_height, drawn.resized_height, drawn.top, size_.height};
  const PixelRange columns = pixel_range(horizontal);
  const PixelRange rows = pixel_range(vertical);
  const Box needed{x + columns.begin, y + rows.begin, columns.end - columns.begin, rows.end - rows.begin};
  const Box whole{0, 0, scaled(stored_width), scaled(stored_height)};
  ImageView view = decoder.decode(orientation.is_upright() ? needed : whole, scratch.pixels);
  view = orientation.turn(view, whole.width, whole.height, scratch.turned);
  view.x -= x;
  view.y -= y;
  finish(view, drawn, horizontal, vertical, scratch, out);
}

namespace {

DecodedImage decode_stored(std::span<const std::uint8_t> bytes, const std::string& name,
                           std::vector<std::uint8_t>& pixels) {
  if (is_jpeg(bytes)) {
    JpegDecoder decoder(bytes, name);
    const int width = decoder.width(), height = decoder.height();
    return {width, height, decoder.decode({0, 0, width, height}, pixels)};
  }
  if (is_png(bytes)) return decode_png(bytes, name, pixels);
  if (is_webp(bytes)) return decode_webp(bytes, name, pixels);
  if (is_bmp(bytes)) return decode_bmp(bytes, name, pixels);
  const std::string_view what = describe_stand_in({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  throw BadSample(fmt::format("{}: {}", name, what.empty() ? "not a JPEG, PNG, WebP or BMP image" : what));
}

}  // namespace

void read_sample(const std::filesystem::path& file, std::vector<std::uint8_t>& bytes) {
  try {
    read_file(file, bytes);
  } catch (const Error& error) {
    throw BadSample(error.what());
  }
}

DecodedImage read_image(const std::filesystem::path& file, Scratch& scratch, ImageOrientation orientation) {
  read_sample(file, scratch.file);
  return decode_image(scratch.file, file.string(), scratch.pixels, orientation);
}

DecodedImage decode_image(std::span<const std::uint8_t> bytes, const std::string& name,
                          std::vector<std::uint8_t>& pixels, ImageOrientation orientation) {
  const DecodedImage stored = decode_stored(bytes, name, pixels);
  const Orientation found = find_orientation(bytes, orientation);
  if (found.is_upright()) return stored;
  std::vector<std::uint8_t> turned;
  const auto [width, height] = found.seen(stored.width, stored.height);
  const ImageView view = found.turn(stored.view, stored.width, stored.height, turned);
  pixels = std::move(turned);
  return {width, height, view};
}

ImageTransform photo_transform(const DataSettings& settings, Split split) {
  const ImageSize size = photo_size(settings);
  return {
      size,
      resolve_augment(settings, split, size.is_small() ? Augmentation::crop_flip : Augmentation::random_resized_crop),
      settings.orientation};
}

DatasetInfo photo_info(const DataSettings& settings, const std::vector<std::string>& class_names,
                       const std::string& place) {
  DatasetInfo info;
  info.kind = DataKind::image;
  info.class_names = class_names;
  info.classes = static_cast<int>(class_names.size());
  require_classes(settings, class_names, place);
  info.image_size = photo_size(settings);
  info.orientation = settings.orientation;
  info.mean = {0.485f, 0.456f, 0.406f};  // ImageNet's, as torchvision uses them
  info.stddev = {0.229f, 0.224f, 0.225f};
  return info;
}

}  // namespace ptrain
