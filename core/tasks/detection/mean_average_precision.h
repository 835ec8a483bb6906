// Mean average precision and recall of boxes and masks as COCO defines them (Lin et al. 2014, "Microsoft COCO"), with
// the results of pycocotools 2.0.11 to the last bit.
#pragma once

#include "core/data/boxes/rle.h"
#include "core/tasks/detected_box.h"

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ptrain {

struct AnnotatedBox {
  std::int64_t category = 0;
  CocoBox box{};
  double area = 0;       // px, of the object rather than of its box
  bool crowd = false;    // many objects in one box: detections in it count neither as right nor as wrong
  RunLengths mask = {};  // where masks are matched
};

/// What is matched by its intersection over union (IoU), and has the areas of figures by area.
enum class MatchedBy { boxes, masks };

/// Mean average precisions (AP) and recalls (AR), each -1 where no annotation defines it. IoU thresholds are 0.50 to
/// 0.95 in steps of 0.05 where not given; areas are small below 32^2 px and large above 96^2; up to 100 detections of
/// a category and image count, or the number in the name. In the order of pycocotools' stats.
struct CocoFigures {
  double ap = -1, ap50 = -1, ap75 = -1, ap_small = -1, ap_medium = -1, ap_large = -1;
  double ar1 = -1, ar10 = -1, ar100 = -1, ar_small = -1, ar_medium = -1, ar_large = -1;
};

class MeanAveragePrecision {
 public:
  static constexpr std::size_t thresholds = 10, areas = 4;
  static constexpr std::size_t most_detections = 100;  // of a category and image

  explicit MeanAveragePrecision(MatchedBy matched_by = MatchedBy::boxes) : matched_by_(matched_by) {}

  /// Settings of the figures on one line, for reports.
  std::string signature() const;

  /// Matches the detections of one image, in order of results where scores tie. Each image is added once, with a
  /// number that orders the images.
  void add_image(std::int64_t image, std::span<const AnnotatedBox> annotations,
                 std::span<const DetectedBox> detections);

  /// All matches as numbers, which merge() adds to another rank's object.
  std::vector<double> state() const;
  void merge(std::span<const double> state);

  CocoFigures figures() const;
  /// By category, the mean average precision; categories without annotations that count are absent.
  std::map<std::int64_t, double> category_precisions() const;

 private:
  /// A detection after matching. Bit `area * thresholds + threshold` says whether it has an annotation, and whether it
  /// is ignored: it has a crowd or one of another area, or none but is itself of another area.
  struct Match {
    double score = 0;
    std::uint64_t matched = 0, ignored = 0;
  };
  /// One category in one image.
  struct Image {
    std::array<std::int64_t, areas> annotations{};  // that count, by area
    std::vector<Match> detections;                  // by score, descending
  };
  using Images = std::map<std::int64_t, Image>;
  struct Curves;

  Image match(std::span<const AnnotatedBox* const> annotations, std::vector<const DetectedBox*> detections) const;
  static Curves trace(const Images& images, std::size_t area, std::size_t detections);

  MatchedBy matched_by_;
  std::map<std::int64_t, Images> categories_;
};

}  // namespace ptrain
