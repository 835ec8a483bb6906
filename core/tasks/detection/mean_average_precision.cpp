// Figures equal pycocotools' because every operation on doubles is done in its order. The file is compiled without
// contraction of products and sums, which would round differently (core/tasks/CMakeLists.txt).
#include "core/tasks/detection/mean_average_precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace ptrain {
namespace {

constexpr std::size_t thresholds = MeanAveragePrecision::thresholds, recalls = 101;
constexpr double small_area = 32.0 * 32.0, medium_area = 96.0 * 96.0, any_area = 1e10;  // px
constexpr double nearly_one = 1 - 1e-10;

enum Area : std::size_t { all, small, medium, large };

struct Range {
  double least, most;  // both included
  bool contains(double value) const { return !(value < least || value > most); }
};
constexpr std::array<Range, MeanAveragePrecision::areas> ranges{
    {{0, any_area}, {0, small_area}, {small_area, medium_area}, {medium_area, any_area}}};

/// numpy.linspace.
template <std::size_t count>
std::array<double, count> space_evenly(double first, double last) {
  std::array<double, count> values{};
  const double step = (last - first) / static_cast<double>(count - 1);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<double>(i) * step + first;
  values.back() = last;
  return values;
}

/// Whether the first score comes before the second: larger ones do, NaN comes last.
bool comes_before(double one, double other) { return std::isnan(other) ? !std::isnan(one) : one > other; }

/// Intersection over union; for a crowd, over the detection's area.
double overlap(const CocoBox& detection, const AnnotatedBox& annotation) {
  const CocoBox& box = annotation.box;
  const double width = std::fmin(detection[2] + detection[0], box[2] + box[0]) - std::fmax(detection[0], box[0]);
  if (width <= 0) return 0;
  const double height = std::fmin(detection[3] + detection[1], box[3] + box[1]) - std::fmax(detection[1], box[1]);
  if (height <= 0) return 0;
  const double intersection = width * height, area = detection[2] * detection[3];
  return intersection / (annotation.crowd ? area : area + box[2] * box[3] - intersection);
}

/// The same of masks.
double overlap_masks(const DetectedBox& detection, const AnnotatedBox& annotation) {
  const MaskOverlap both = measure_overlap(detection.mask, annotation.mask);
  if (both.intersection == 0) return 0;
  return static_cast<double>(both.intersection) /
         static_cast<double>(annotation.crowd ? detection.mask.area() : both.union_of_both);
}

/// numpy.add.reduce of contiguous doubles: pairwise by halves, blocks of 128 in eight sums.
double sum_pairwise(std::span<const double> values) {
  constexpr std::size_t lanes = 8, block = 128;
  if (values.size() > block) {
    const std::size_t half = values.size() / 2 / lanes * lanes;
    return sum_pairwise(values.first(half)) + sum_pairwise(values.subspan(half));
  }
  const std::size_t whole = values.size() / lanes * lanes;
  double sum = 0;
  if (whole > 0) {
    std::array<double, lanes> sums{};
    std::copy_n(values.begin(), lanes, sums.begin());
    for (std::size_t i = lanes; i < whole; ++i) sums[i % lanes] += values[i];
    sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  }
  for (const double value : values.subspan(whole)) sum += value;
  return sum;
}

double mean_or_undefined(const std::vector<double>& values) {
  return values.empty() ? -1 : sum_pairwise(values) / static_cast<double>(values.size());
}

/// Bits of each threshold, for one area.
std::uint64_t bit(std::size_t area, std::size_t threshold) {
  return std::uint64_t{1} << (area * thresholds + threshold);
}

/// Annotations as detections are matched with them in one area.
struct Candidates {
  std::span<const AnnotatedBox* const> annotations;
  std::vector<std::size_t> order;  // those that count, then ignored ones
  std::size_t counted = 0;

  Candidates(std::span<const AnnotatedBox* const> all, std::size_t area) : annotations(all), order(all.size()) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto ignored = std::stable_partition(order.begin(), order.end(), [&](std::size_t i) {
      return !all[i]->crowd && ranges[area].contains(all[i]->area);
    });
    counted = static_cast<std::size_t>(ignored - order.begin());
  }

  /// The place in `order` of the annotation that a detection has: the last of those with the largest overlap, of at
  /// least `least`; one that is ignored only if no other is found. `overlaps` are by annotation, `taken` by place.
  std::optional<std::size_t> find(std::span<const double> overlaps, const std::vector<bool>& taken,
                                  double least) const {
    double best = std::min(least, nearly_one);
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (taken[i] && !annotations[order[i]]->crowd) continue;
      if (found && *found < counted && i >= counted) break;
      if (overlaps[order[i]] < best) continue;
      best = overlaps[order[i]];
      found = i;
    }
    return found;
  }
};

}  // namespace

std::string MeanAveragePrecision::signature() const {
  return fmt::format(
      "COCO {}, IoU 0.50:0.05:0.95, recall 0:0.01:1, area 32^2 and 96^2, maxDets 1, 10 and 100, as "
      "pycocotools 2.0.11",
      matched_by_ == MatchedBy::boxes ? "bbox" : "segm");
}

MeanAveragePrecision::Image MeanAveragePrecision::match(std::span<const AnnotatedBox* const> annotations,
                                                        std::vector<const DetectedBox*> detections) const {
  static const auto levels = space_evenly<thresholds>(0.5, 0.95);
  std::stable_sort(detections.begin(), detections.end(), [](const DetectedBox* one, const DetectedBox* other) {
    return comes_before(one->score, other->score);
  });
  detections.resize(std::min(detections.size(), most_detections));

  Image image;
  image.detections.resize(detections.size());
  const bool by_masks = matched_by_ == MatchedBy::masks;
  std::vector<double> overlaps;  // [detection, annotation]
  std::vector<double> areas_of_detections;
  for (std::size_t d = 0; d < detections.size(); ++d) {
    const DetectedBox& one = *detections[d];
    image.detections[d].score = one.score;
    areas_of_detections.push_back(by_masks ? static_cast<double>(one.mask.area()) : one.box[2] * one.box[3]);
    for (const AnnotatedBox* annotation : annotations)
      overlaps.push_back(by_masks ? overlap_masks(one, *annotation) : overlap(one.box, *annotation));
  }
  for (std::size_t area = 0; area < areas; ++area) {
    const Candidates candidates(annotations, area);
    image.annotations[area] = static_cast<std::int64_t>(candidates.counted);
    for (std::size_t threshold = 0; threshold < thresholds; ++threshold) {
      std::vector<bool> taken(annotations.size());
      for (std::size_t d = 0; d < detections.size(); ++d) {
        const auto of_detection = std::span(overlaps).subspan(d * annotations.size(), annotations.size());
        const std::optional<std::size_t> found = candidates.find(of_detection, taken, levels[threshold]);
        Match& match = image.detections[d];
        if (found) {
          taken[*found] = true;
          match.matched |= bit(area, threshold);
          if (*found >= candidates.counted) match.ignored |= bit(area, threshold);
        } else if (!ranges[area].contains(areas_of_detections[d])) {
          match.ignored |= bit(area, threshold);
        }
      }
    }
  }
  return image;
}

void MeanAveragePrecision::add_image(std::int64_t image, std::span<const AnnotatedBox> annotations,
                                     std::span<const DetectedBox> detections) {
  struct Boxes {
    std::vector<const AnnotatedBox*> annotations;
    std::vector<const DetectedBox*> detections;
  };
  std::map<std::int64_t, Boxes> by_category;
  for (const AnnotatedBox& one : annotations) by_category[one.category].annotations.push_back(&one);
  for (const DetectedBox& one : detections) by_category[one.category].detections.push_back(&one);
  for (auto& [category, boxes] : by_category) {
    categories_[category][image] = match(boxes.annotations, std::move(boxes.detections));
  }
}

std::vector<double> MeanAveragePrecision::state() const {
  std::vector<double> state;
  for (const auto& [category, images] : categories_) {
    for (const auto& [number, image] : images) {
      state.insert(state.end(), {static_cast<double>(category), static_cast<double>(number)});
      for (const std::int64_t count : image.annotations) state.push_back(static_cast<double>(count));
      state.push_back(static_cast<double>(image.detections.size()));
      for (const Match& match : image.detections) {  // 40 bits are exact in a double
        state.insert(state.end(),
                     {match.score, static_cast<double>(match.matched), static_cast<double>(match.ignored)});
      }
    }
  }
  return state;
}

void MeanAveragePrecision::merge(std::span<const double> state) {
  auto next = state.begin();
  const auto take = [&] { return *next++; };
  while (next != state.end()) {
    const auto category = static_cast<std::int64_t>(take());
    Image& image = categories_[category][static_cast<std::int64_t>(take())];
    for (std::int64_t& count : image.annotations) count = static_cast<std::int64_t>(take());
    image.detections.resize(static_cast<std::size_t>(take()));
    for (Match& match : image.detections) {
      match.score = take();
      match.matched = static_cast<std::uint64_t>(take());
      match.ignored = static_cast<std::uint64_t>(take());
    }
  }
}

/// Of one category, area and limit of detections.
struct MeanAveragePrecision::Curves {
  std::array<std::array<double, recalls>, thresholds> precision{};  // at recalls of 0, 0.01, ..., 1
  std::array<double, thresholds> recall{};                          // the largest
  bool is_defined = false;                                          // some annotations count
};

MeanAveragePrecision::Curves MeanAveragePrecision::trace(const Images& images, std::size_t area,
                                                         std::size_t detections) {
  static const auto levels = space_evenly<recalls>(0, 1);
  constexpr double spacing = std::numeric_limits<double>::epsilon();
  Curves curves;
  std::vector<const Match*> matches;
  std::int64_t annotations = 0;
  for (const auto& [number, image] : images) {
    annotations += image.annotations[area];
    const std::size_t count = std::min(detections, image.detections.size());
    for (std::size_t d = 0; d < count; ++d) matches.push_back(&image.detections[d]);
  }
  if (annotations == 0) return curves;
  curves.is_defined = true;
  std::stable_sort(matches.begin(), matches.end(),
                   [](const Match* one, const Match* other) { return comes_before(one->score, other->score); });
  std::vector<double> recall(matches.size()), precision(matches.size());
  for (std::size_t threshold = 0; threshold < thresholds && !matches.empty(); ++threshold) {
    const std::uint64_t mask = bit(area, threshold);
    double right = 0, wrong = 0;
    for (std::size_t i = 0; i < matches.size(); ++i) {
      if ((matches[i]->ignored & mask) == 0) ((matches[i]->matched & mask) != 0 ? right : wrong) += 1;
      recall[i] = right / static_cast<double>(annotations);
      precision[i] = right / (wrong + right + spacing);
    }
    curves.recall[threshold] = recall.back();
    for (std::size_t i = matches.size() - 1; i > 0; --i) precision[i - 1] = std::max(precision[i - 1], precision[i]);
    for (std::size_t r = 0; r < recalls; ++r) {
      const auto reached = std::lower_bound(recall.begin(), recall.end(), levels[r]);
      if (reached == recall.end()) break;
      curves.precision[threshold][r] = precision[static_cast<std::size_t>(reached - recall.begin())];
    }
  }
  return curves;
}

CocoFigures MeanAveragePrecision::figures() const {
  const auto trace_all = [this](Area area, std::size_t detections) {
    std::vector<Curves> defined;
    for (const auto& [category, images] : categories_) {
      if (Curves curves = trace(images, area, detections); curves.is_defined) defined.push_back(curves);
    }
    return defined;
  };
  // Values are averaged in the order of pycocotools' arrays: threshold, recall, category.
  const auto precision = [](const std::vector<Curves>& categories, std::size_t first = 0,
                            std::size_t count = thresholds) {
    std::vector<double> values;
    for (std::size_t threshold = first; threshold < first + count; ++threshold) {
      for (std::size_t r = 0; r < recalls; ++r) {
        for (const Curves& curves : categories) values.push_back(curves.precision[threshold][r]);
      }
    }
    return mean_or_undefined(values);
  };
  const auto recall = [](const std::vector<Curves>& categories) {
    std::vector<double> values;
    for (std::size_t threshold = 0; threshold < thresholds; ++threshold) {
      for (const Curves& curves : categories) values.push_back(curves.recall[threshold]);
    }
    return mean_or_undefined(values);
  };
  constexpr std::size_t at_50 = 0, at_75 = 5;  // thresholds
  const auto of_all = trace_all(all, most_detections), of_small = trace_all(small, most_detections),
             of_medium = trace_all(medium, most_detections), of_large = trace_all(large, most_detections);
  CocoFigures figures;
  figures.ap = precision(of_all);
  figures.ap50 = precision(of_all, at_50, 1);
  figures.ap75 = precision(of_all, at_75, 1);
  figures.ap_small = precision(of_small);
  figures.ap_medium = precision(of_medium);
  figures.ap_large = precision(of_large);
  figures.ar1 = recall(trace_all(all, 1));
  figures.ar10 = recall(trace_all(all, 10));
  figures.ar100 = recall(of_all);
  figures.ar_small = recall(of_small);
  figures.ar_medium = recall(of_medium);
  figures.ar_large = recall(of_large);
  return figures;
}

std::map<std::int64_t, double> MeanAveragePrecision::category_precisions() const {
  std::map<std::int64_t, double> precisions;
  for (const auto& [category, images] : categories_) {
    const Curves curves = trace(images, all, most_detections);
    if (!curves.is_defined) continue;
    std::vector<double> values;
    for (const auto& at_threshold : curves.precision)
      values.insert(values.end(), at_threshold.begin(), at_threshold.end());
    precisions[category] = mean_or_undefined(values);
  }
  return precisions;
}

}  // namespace ptrain
