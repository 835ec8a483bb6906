#include "core/tasks/segmentation/pixel_classes.h"

#include "core/base/parallel.h"
#include "core/data/image/framing.h"
#include "core/data/tensor_names.h"
#include "core/ops/math/bilinear.h"

#include <algorithm>

namespace ptrain {
namespace {

FramePlacement get_placement(const Batch& batch, std::int64_t row, ImageSize frame) {
  const HostTensor* const placements = batch.find(tensor_names::placements);
  return placements == nullptr ? FramePlacement{frame, frame} : read_placement(placements->row<float>(row));
}

/// One row of the resized logits [width, classes], before its pixels are mixed.
void mix_rows(std::span<const float> logits, std::size_t row_size, const BilinearAxis& rows, std::int64_t y,
              std::span<float> mixed) {
  const BilinearAxis::Range from = rows.pixels(y);
  const auto line = [&](std::int64_t i) { return logits.subspan(static_cast<std::size_t>(i) * row_size); };
  const std::span<const float> first = line(from.begin), last = line(from.end - 1);
  const float share = from.end - from.begin > 1 ? rows.share(y, from.end - 1) : 0.0f;
  for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] = first[i] + share * (last[i] - first[i]);
}

}  // namespace

std::int32_t likeliest_class(std::span<const float> logits) {
  return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

PixelClasses get_labels(const Batch& batch, std::int64_t row) {
  const HostTensor* const masks = batch.find(tensor_names::masks);
  if (masks == nullptr) return {};
  if (!batch.label_maps.empty()) {
    const PixelClasses& map = batch.label_maps[static_cast<std::size_t>(row)];
    if (!map.empty()) return map;
  }
  const ImageSize frame{masks->shape()[-2], masks->shape()[-1]};
  const ImageSize filled = get_placement(batch, row, frame).filled_size(frame);
  PixelClasses labels{filled, {}};
  const auto all = masks->row<std::int32_t>(row);
  for (auto line = all.begin(); line != all.begin() + std::ptrdiff_t{filled.height} * frame.width;
       line += frame.width) {
    labels.classes.insert(labels.classes.end(), line, line + filled.width);
  }
  return labels;
}

PixelClasses find_likeliest(const Batch& batch, const HostTensor& logits, std::int64_t row, ImageSize size) {
  const ImageSize frame{logits.shape()[-3], logits.shape()[-2]};
  const auto classes = static_cast<std::size_t>(logits.shape()[-1]);
  const FramePlacement place = get_placement(batch, row, frame);
  const ImageSize filled = place.filled_size(frame);
  PixelClasses found{size.value_or(place.original), {}};
  found.classes.resize(static_cast<std::size_t>(found.size.pixels()));
  const BilinearAxis rows(filled.height, found.size.height, false), columns(filled.width, found.size.width, false);
  const std::span<const float> scores = logits.row<float>(row);
  const auto row_size = static_cast<std::size_t>(frame.width) * classes;
  parallel_for(found.size.height, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> mixed(static_cast<std::size_t>(filled.width) * classes), pixel(classes);
    for (std::int64_t y = begin; y < end; ++y) {
      mix_rows(scores, row_size, rows, y, mixed);
      for (std::int64_t x = 0; x < found.size.width; ++x) {
        mix_rows(mixed, classes, columns, x, pixel);
        found.classes[static_cast<std::size_t>(y * found.size.width + x)] = likeliest_class(pixel);
      }
    }
  });
  return found;
}

}  // namespace ptrain
