#include "core/infer/text_reader.h"

#include "core/config/text.h"
#include "core/data/image/framing.h"
#include "core/data/image/random_erasing.h"
#include "core/data/image/straighten.h"
#include "core/report/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace ptrain {
namespace {

DeployOptions in_sizes_of(const DatasetInfo& data, DeployOptions options) {
  options.image_size = data.image_size;
  return options;
}

/// How many times as wide as `frame` an image is read that is resized to its height.
std::int64_t count_widths(ImageSize image, ImageSize frame) {
  constexpr std::int64_t most = 16;
  const std::int64_t width = std::int64_t{image.width} * frame.height / image.height;
  return std::clamp<std::int64_t>((width + frame.width - 1) / frame.width, 1, most);
}

}  // namespace

void sort_for_reading(std::vector<FoundText>& texts) {
  constexpr double line_distance = 10;  // px
  const auto start = [](const FoundText& text) { return text.corners[0]; };
  std::ranges::stable_sort(texts, [&](const FoundText& a, const FoundText& b) {
    return start(a).y != start(b).y ? start(a).y < start(b).y : start(a).x < start(b).x;
  });
  for (std::size_t i = 1; i < texts.size(); ++i) {
    for (std::size_t j = i; j > 0; --j) {
      const Point2d before = start(texts[j - 1]), own = start(texts[j]);
      if (std::abs(own.y - before.y) >= line_distance || own.x >= before.x) break;
      std::swap(texts[j - 1], texts[j]);
    }
  }
}

TextReader::TextReader(const LoadedModel& recognizer, Backend& backend, DeployOptions options)
    : recognizer_(recognizer),
      predictor_(backend, *recognizer.model, *recognizer.task, recognizer.trained.weights(),
                 in_sizes_of(recognizer.trained.data, std::move(options))) {}

std::vector<ReadText> TextReader::read(const DecodedImage& image, std::vector<FoundText> found) {
  for (FoundText& one : found) one.corners = order_corners(one.corners);
  sort_for_reading(found);
  std::vector<ReadText> texts;
  std::vector<CutImage> cuts;
  for (const FoundText& one : found) {
    CutImage cut = straighten(image, one.corners);
    if (cut.empty()) continue;
    cuts.push_back(std::move(cut));
    texts.push_back({one, {}, 0});
  }
  std::vector<DecodedImage> images;
  std::map<std::int64_t, std::vector<std::size_t>> by_widths;
  for (const CutImage& cut : cuts) {
    images.push_back(cut.view());
    by_widths[count_widths(images.back().size(), recognizer_.trained.data.image_size)].push_back(images.size() - 1);
  }
  for (const auto& [widths, all] : by_widths) {
    const auto most = static_cast<std::size_t>(predictor_.most());
    for (std::size_t first = 0; first < all.size(); first += most) {
      read_together(std::span(all).subspan(first, std::min(most, all.size() - first)), widths, texts, images);
    }
  }
  std::erase_if(texts, [](const ReadText& one) { return one.text.empty(); });
  return texts;
}

void TextReader::read_together(std::span<const std::size_t> chosen, std::int64_t widths, std::vector<ReadText>& texts,
                               std::span<const DecodedImage> images) {
  const DatasetInfo& data = recognizer_.trained.data;
  const ImageSize frame(data.image_size.height, widths * data.image_size.width);
  Batch batch(input_tensors(data, frame), std::ssize(chosen));
  batch.count = std::ssize(chosen);
  for (std::size_t row = 0; row < chosen.size(); ++row) {
    const DecodedImage& image = images[chosen[row]];
    const SampleRow out(batch, static_cast<std::int64_t>(row));
    place_image(image, fit_inside(image.size(), frame), frame, mean_colour(data), scratch_,
                out.at<std::uint8_t>(tensor_names::images));
  }
  const Batch scores = predictor_.run(batch);
  for (const Prediction& one : recognizer_.task->predictions(batch, scores, {.class_names = data.class_names})) {
    ReadText& read = texts[chosen[static_cast<std::size_t>(one.index)]];
    read.text = one.answer.get<std::string>();
    read.probability = one.probability.value_or(0);
  }
}

std::string reading_header(PredictionFormat format) {
  return format == PredictionFormat::csv ? "input,text,probability,score,x1,y1,x2,y2,x3,y3,x4,y4\n" : "";
}

namespace {

std::string format_json(const std::string& image, const std::vector<ReadText>& texts) {
  Prediction::Json list = Prediction::Json::array();
  for (const ReadText& one : texts) {
    list.push_back({{"text", one.text},
                    {"probability", one.probability},
                    {"points", list_corners(one.box.corners)},
                    {"score", one.box.score}});
  }
  const Prediction::Json line{{"input", image}, {"texts", std::move(list)}};
  return line.dump(-1, ' ', false, Prediction::Json::error_handler_t::replace) + "\n";
}

std::string format_csv(const std::string& image, const ReadText& one) {
  std::string line =
      fmt::format("{},{},{:.6g},{:.6g}", csv_field(image), csv_field(one.text), one.probability, one.box.score);
  for (const Point2d& corner : one.box.corners) line += fmt::format(",{},{}", corner.x, corner.y);
  return line + "\n";
}

std::string format_text(const std::string& image, const ReadText& one) {
  return fmt::format("{}: {} {:.4f} at {}\n", escape_controls(image), escape_controls(one.text), one.probability,
                     format_corners(one.box.corners));
}

}  // namespace

std::string reading_lines(PredictionFormat format, const std::string& image, const std::vector<ReadText>& texts) {
  if (format == PredictionFormat::jsonl) return format_json(image, texts);
  if (format == PredictionFormat::text && texts.empty()) return escape_controls(image) + ": nothing\n";
  std::string lines;
  for (const ReadText& one : texts) {
    lines += format == PredictionFormat::csv ? format_csv(image, one) : format_text(image, one);
  }
  return lines;
}

}  // namespace ptrain
