// Images with boxes around lines of text, in PaddleOCR's lists or in ICDAR's files beside the images. In training,
// images and boxes are scaled, cropped, mirrored and turned alike.
#include "core/base/counted.h"
#include "core/base/hash.h"
#include "core/data/boxes/text_boxes.h"
#include "core/data/image/image_list.h"
#include "core/data/image/image_transform.h"
#include "core/data/image/random_erasing.h"
#include "core/data/image/segmentation_transform.h"
#include "core/data/sources.h"
#include "core/data/split.h"
#include "core/data/text/text_encoding.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

/// A turn by an angle about the centre of a frame, from the x axis to the y axis.
class Turn {
 public:
  Turn(float degrees, ImageSize frame)
      : cosine_(std::cos(double{degrees} * std::numbers::pi / 180)),
        sine_(std::sin(double{degrees} * std::numbers::pi / 180)),
        centre_{frame.width / 2.0, frame.height / 2.0},
        frame_(frame) {}

  Point2d apply(Point2d point) const { return rotate(point, sine_); }

  /// Turns pixels [height, width, 3], interpolated linearly; what comes from outside is `padding`.
  void apply(std::span<std::uint8_t> pixels, const std::array<std::uint8_t, 3>& padding, Scratch& scratch) const {
    scratch.turned.assign(pixels.begin(), pixels.end());
    std::uint8_t* to = pixels.data();
    for (int y = 0; y < frame_.height; ++y) {
      for (int x = 0; x < frame_.width; ++x, to += 3) {
        const Point2d from = rotate({x + 0.5, y + 0.5}, -sine_);
        interpolate(scratch.turned, from.x - 0.5, from.y - 0.5, padding, to);
      }
    }
  }

 private:
  Point2d rotate(Point2d point, double sine) const {
    const double x = point.x - centre_.x, y = point.y - centre_.y;
    return {centre_.x + cosine_ * x - sine * y, centre_.y + sine * x + cosine_ * y};
  }

  void interpolate(const std::vector<std::uint8_t>& source, double x, double y,
                   const std::array<std::uint8_t, 3>& padding, std::uint8_t* to) const {
    const auto left = static_cast<int>(std::floor(x)), top = static_cast<int>(std::floor(y));
    const double right_share = x - left, lower_share = y - top;
    std::array<double, 3> sums{0.5, 0.5, 0.5};  // rounds
    for (int row = 0; row < 2; ++row) {
      for (int column = 0; column < 2; ++column) {
        const double share = (row == 0 ? 1 - lower_share : lower_share) * (column == 0 ? 1 - right_share : right_share);
        const std::uint8_t* const pixel = find_pixel(source, left + column, top + row, padding);
        for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += share * pixel[c];
      }
    }
    for (std::size_t c = 0; c < sums.size(); ++c) to[c] = static_cast<std::uint8_t>(sums[c]);
  }

  const std::uint8_t* find_pixel(const std::vector<std::uint8_t>& source, int x, int y,
                                 const std::array<std::uint8_t, 3>& padding) const {
    if (x < 0 || y < 0 || x >= frame_.width || y >= frame_.height) return padding.data();
    return source.data() + 3 * (std::ptrdiff_t{y} * frame_.width + x);
  }

  double cosine_, sine_;
  Point2d centre_;
  ImageSize frame_;
};

/// A corner in px of the frame.
Point2d place_point(Point2d point, const FramePlacement& place, ImageSize frame) {
  const double x = point.x * place.resized.width / place.original.width - place.left;
  const double y = point.y * place.resized.height / place.original.height - place.top;
  return {place.mirror == Mirror::no ? x : place.filled_size(frame).width - x, y};
}

bool shows_text(const std::vector<TextBox>& boxes, const FramePlacement& place, ImageSize frame) {
  const ImageSize filled = place.filled_size(frame);
  return std::ranges::any_of(boxes, [&](const TextBox& one) {
    if (one.ignored) return false;
    Point2d centre;
    for (const Point2d& corner : one.corners) {
      const Point2d placed = place_point(corner, place, frame);
      centre = {centre.x + placed.x / 4, centre.y + placed.y / 4};
    }
    return centre.x >= 0 && centre.y >= 0 && centre.x < filled.width && centre.y < filled.height;
  });
}

constexpr float largest_factor = 3;  // of the size of training images

class TextBoxDataset final : public Dataset {
 public:
  /// `place` names the files in messages.
  TextBoxDataset(std::vector<TextBoxImage> images, const DatasetInfo& info, Augmentation augment,
                 const std::string& place)
      : images_(std::move(images)),
        augment_(augment),
        transform_(info.image_size, augment, mean_colour(info), largest_factor) {
    info_ = info;
    std::int64_t unusable = 0;
    for (TextBoxImage& image : images_) {
      unusable += remove_unusable(image.boxes);
      most_boxes_ = std::max(most_boxes_, image.boxes.size());
    }
    if (unusable > 0) {
      notes_.push_back(fmt::format("{}: {} {} without area or with crossing sides left out", place, unusable,
                                   unusable == 1 ? "box" : "boxes"));
    }
    const auto has_text = [](const TextBoxImage& one) { return !std::ranges::all_of(one.boxes, &TextBox::ignored); };
    if (std::ranges::none_of(images_, has_text)) {
      fail("{}: has no box around text to read in {}", place, counted(std::ssize(images_), "image"));
    }
  }

  std::int64_t size() const override { return std::ssize(images_); }
  std::int32_t label(std::int64_t) const override { return 0; }
  std::vector<TensorSpec> tensors(const ImageForm& form) const override {
    return with_text_boxes(input_tensors(info_, form.size), most_boxes_);
  }

  void load(std::int64_t index, SampleRandom random, Scratch& scratch, const SampleRow& out) const override {
    const TextBoxImage& sample = at(index);
    const DecodedImage image = read_image(sample.file, scratch, info_.orientation);
    const ImageSize frame = out.form().size.value_or(info_.image_size);
    const SegmentationTransform transform = transform_.in_form(out.form());
    const FramePlacement place = draw_placement(sample, transform, image.size(), frame, random);
    const std::span<std::uint8_t> pixels = out.at<std::uint8_t>(tensor_names::images);
    transform.apply(image, place, scratch, pixels);
    std::vector<TextBox> boxes = sample.boxes;
    for (TextBox& one : boxes) {
      for (Point2d& corner : one.corners) corner = place_point(corner, place, frame);
    }
    if (augment_ != Augmentation::none) turn(random, frame, pixels, boxes, scratch);
    write_placement(place, out.at<float>(tensor_names::placements));
    write_text_targets(boxes, frame, out);
  }

  SampleOrigin origin(std::int64_t index) const override {
    SampleOrigin found{.file = at(index).file, .is_picture = true};
    if (at(index).line > 0) found.line = at(index).line;
    return found;
  }
  std::uint64_t fingerprint() const override {
    std::uint64_t hash = Dataset::fingerprint();
    for (const TextBoxImage& image : images_) {
      for (const TextBox& one : image.boxes) {
        for (const Point2d& corner : one.corners) hash = fnv1a64(fmt::format("{} {} ", corner.x, corner.y), hash);
        hash = fnv1a64(one.ignored ? "ignored" : "learnt", hash);
      }
    }
    return hash;
  }

 private:
  const TextBoxImage& at(std::int64_t index) const { return images_[static_cast<std::size_t>(index)]; }

  /// The first of several placements that shows text, if one does.
  static FramePlacement draw_placement(const TextBoxImage& sample, const SegmentationTransform& transform,
                                       ImageSize original, ImageSize frame, SampleRandom& random) {
    constexpr int most_draws = 8;
    FramePlacement place = transform.plan(original, random);
    for (int i = 1; i < most_draws && !shows_text(sample.boxes, place, frame); ++i) {
      place = transform.plan(original, random);
    }
    return place;
  }

  void turn(SampleRandom& random, ImageSize frame, std::span<std::uint8_t> pixels, std::vector<TextBox>& boxes,
            Scratch& scratch) const {
    constexpr float most_degrees = 10;
    const Turn turn(random.uniform(-most_degrees, most_degrees), frame);
    turn.apply(pixels, mean_colour(info_), scratch);
    for (TextBox& one : boxes) {
      for (Point2d& corner : one.corners) corner = turn.apply(corner);
    }
  }

  std::vector<TextBoxImage> images_;
  Augmentation augment_;
  SegmentationTransform transform_;
  std::size_t most_boxes_ = 0;
};

fs::path require_split_folder(const DataSettings& settings, Split split) {
  if (has_dev_split(settings)) {
    if (const fs::path other = find_split(settings.path, Split::eval); !other.empty()) reject_dev_split(other);
    split = Split::train;
  }
  fs::path found = find_split(settings.path, split);
  if (!found.empty()) return found;
  const bool train = split == Split::train;
  fail("{}: has no images to {} on; expected {}/ with images and ICDAR's files of the same names{}", settings.path,
       train ? "train" : "evaluate", train ? "train" : "val",
       train ? "" : ", or data.split.dev, the fraction of train to evaluate on");
}

/// ICDAR's file of an image: its name with .txt, or that with gt_ before it.
fs::path find_icdar_file(const fs::path& image) {
  const std::string name = image.stem().string() + ".txt";
  for (const std::string& one : {name, "gt_" + name}) {
    if (fs::path file = image.parent_path() / one; fs::exists(file)) return file;
  }
  fail("{}: has no boxes; expected {} or gt_{} beside it", image.string(), name, name);
}

std::vector<TextBoxImage> read_icdar_folder(const fs::path& folder, TextEncoding encoding) {
  std::vector<TextBoxImage> images;
  walk_folder(folder, [&](const fs::directory_entry& entry) {
    if (has_image_suffix(entry.path()) && entry.is_regular_file()) images.push_back({entry.path().string(), {}});
  });
  if (images.empty()) fail("{}: has no images", folder.string());
  std::ranges::sort(images, {}, &TextBoxImage::file);
  for (TextBoxImage& one : images) {
    const fs::path file = find_icdar_file(one.file);
    one.boxes = parse_icdar_boxes(read_running_text(file, encoding).text, file.string());
  }
  return images;
}

/// With the split's part of the images where training and evaluation share them.
std::unique_ptr<Dataset> make_text_box_dataset(std::vector<TextBoxImage> images, const DataSettings& settings,
                                               Split split, const std::string& place) {
  constexpr int usual_side = 640;
  if (has_dev_split(settings)) {
    const std::vector<std::int32_t> alike(images.size());
    images = gathered(std::move(images), select_stratified_split(alike, settings, split, place));
  }
  DatasetInfo info = photo_info(settings, {"text"}, place);
  info.targets = {tensor_names::text_boxes};
  info.framing = ImageFraming::pad;
  info.image_size = settings.image_size.value_or(usual_side);
  return std::make_unique<TextBoxDataset>(std::move(images), info,
                                          resolve_augment(settings, split, Augmentation::random_resized_crop), place);
}

}  // namespace

std::unique_ptr<Dataset> open_text_boxes(const DataSettings& settings, Split split) {
  require_path(settings, settings.source);
  if (has_dev_split(settings)) {
    if (const fs::path other = find_text_file(settings, Split::eval, settings.source); fs::exists(other)) {
      reject_dev_split(other);
    }
  }
  const fs::path list = find_text_file(settings, has_dev_split(settings) ? Split::train : split, settings.source);
  std::vector<TextBoxImage> images =
      parse_text_box_list(read_running_text(list, settings.encoding).text, list.string(), settings.path);
  if (images.empty()) {
    fail("{}: lists no image; expected the path of an image, a tab and a list of its texts a line", list.string());
  }
  return make_text_box_dataset(std::move(images), settings, split, list.string());
}

std::unique_ptr<Dataset> open_icdar(const DataSettings& settings, Split split) {
  require_path(settings, settings.source);
  const fs::path folder = require_split_folder(settings, split);
  return make_text_box_dataset(read_icdar_folder(folder, settings.encoding), settings, split, folder.string());
}

}  // namespace ptrain
