// The ONNX translation of the ops of detectors. Images fill the frame: placements, which ptrain's own inputs have, are
// no input in ONNX.
#include "core/deploy/onnx/translation.h"

#include "core/ops/detection/detect_objects.h"
#include "core/ops/detection/detect_regions.h"
#include "core/ops/detection/roi_align.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ptrain {
namespace {

using Ints = std::vector<std::int64_t>;

/// Nodes named after the node that is translated.
class NodeTranslation {
 public:
  NodeTranslation(const Node& node, Translation& t) : node_(node), to_(t.to()) {}

 protected:
  static constexpr std::int64_t one = 1;

  struct Top {
    std::string values, indices;
  };

  std::string name(const std::string& part) const { return node_.name + "." + part; }
  std::string add(const std::string& part, const std::string& type, const OnnxGraph::Names& inputs,
                  const std::vector<OnnxAttribute>& attributes = {}) {
    return to_.add(name(part), type, inputs, attributes);
  }
  std::string number(float value) { return to_.scalar(name("number"), value); }
  std::string integers(const Ints& values) {
    return to_.constant(name("integers"), {static_cast<std::int64_t>(values.size())}, values);
  }
  std::string unsqueeze(const std::string& part, const std::string& x, const Ints& axes) {
    return add(part + ".unsqueezed", "Unsqueeze", {x, integers(axes)});
  }
  std::string reshape(const std::string& part, const std::string& x, const Ints& form) {
    return add(part, "Reshape", {x, integers(form)});
  }
  /// Elements `begin` to `end` along the axis.
  std::string slice(const std::string& part, const std::string& x, std::int64_t begin, std::int64_t end,
                    std::int64_t axis) {
    return add(part, "Slice", {x, integers({begin}), integers({end}), integers({axis})});
  }
  std::string cast(const std::string& part, const std::string& x, OnnxType type) {
    return add(part, "Cast", {x}, {{"to", static_cast<std::int64_t>(type)}});
  }

  /// The largest of each row, in descending order; the first of equal ones first.
  Top add_top(const std::string& part, const std::string& x, std::int64_t count) {
    constexpr std::size_t outputs = 2;
    const OnnxGraph::Names names =
        to_.add_outputs(name(part), "TopK", {x, integers({count})}, {{"axis", one}}, outputs);
    return {names[0], names[1]};
  }

  /// Rows `indices` [N,T] of x [N,.,width].
  std::string gather(const std::string& part, const std::string& x, const std::string& indices, std::int64_t width) {
    const std::string expanded =
        add(part + ".indices", "Expand", {unsqueeze(part, indices, {2}), integers({1, 1, width})});
    return add(part, "GatherElements", {x, expanded}, {{"axis", one}});
  }

  const Node& node_;
  OnnxGraph& to_;
};

/// Chooses the objects among candidates. N: images, T: candidates of each, D: objects kept.
class DetectionTranslation : public NodeTranslation {
 protected:
  struct Limits {
    float rank, overlap, least_side, width, height;
    std::int64_t per_image;
  };
  struct Candidates {
    std::int64_t count = 0;
    std::string boxes, ranks, labels;  // [N,T,4], [N,T], i64 [N,T]
    std::string groups;                // i64 [N,T]; a box suppresses others of its group
    std::int64_t group_count = 0;
  };
  struct Detections {
    std::string rows, labels;  // [N,D,6]; i64 [N,D], 0 in unused rows
    std::string is_object;     // [N,D]
  };
  /// Extents and centres of what boxes are decoded from, [.,.,1] each.
  struct AnchorParts {
    std::string width, height, x, y;
  };

  DetectionTranslation(const Node& node, Translation& t, const Limits& limits)
      : NodeTranslation(node, t), limits_(limits) {}
  ~DetectionTranslation() = default;

  /// Boxes from deltas [N,X,4] over the weights, as decode_box() and clip_box() make them: [N,X,4].
  std::string decode(const std::string& deltas, const AnchorParts& from, const BoxWeights& weights) {
    const std::string x = move_centre(deltas, 0, weights, from.width, from.x);
    const std::string y = move_centre(deltas, 1, weights, from.height, from.y);
    const std::string half_width = grow(deltas, 2, weights, from.width);
    const std::string half_height = grow(deltas, 3, weights, from.height);
    return join_corners(add("x0", "Sub", {x, half_width}), add("y0", "Sub", {y, half_height}),
                        add("x1", "Add", {x, half_width}), add("y1", "Add", {y, half_height}));
  }

  /// Boxes from distances [N,X,4] of their sides from centres, in units of the anchors' extents.
  std::string decode_distances(const std::string& distances, const AnchorParts& from) {
    const auto side = [&](std::int64_t column, const char* direction, const std::string& centre,
                          const std::string& extent) {
      const std::string distance = slice("distance", distances, column, column + 1, 2);
      return add("side", direction, {centre, add("scaled", "Mul", {distance, extent})});
    };
    return join_corners(side(0, "Sub", from.x, from.width), side(1, "Sub", from.y, from.height),
                        side(2, "Add", from.x, from.width), side(3, "Add", from.y, from.height));
  }

  Detections detect(const Candidates& from) {
    const std::int64_t found = std::min(from.count, limits_.per_image);
    const Top best = add_top("kept", suppress(from), found);
    const std::string is_object = add("is_object", "Greater", {best.values, number(too_low())});
    const auto choose = [&](const char* part, const std::string& value, float otherwise) {
      return add(part, "Where", {unsqueeze("is_object", is_object, {2}), value, number(otherwise)});
    };
    const std::string labels = add("label", "GatherElements", {from.labels, best.indices}, {{"axis", one}});
    const std::string classes = cast("class", labels, OnnxType::f32);
    std::string rows = add("rows", "Concat",
                           {choose("box", gather("box", from.boxes, best.indices, 4), 0),
                            choose("score", unsqueeze("score", score(best.values), {2}), 0),
                            choose("class", unsqueeze("class", classes, {2}), -1)},
                           {{"axis", std::int64_t{2}}});
    return {found == limits_.per_image ? rows : pad(rows, limits_.per_image - found), labels, is_object};
  }

  /// The scores that ranks stand for.
  virtual std::string score(const std::string& ranks) { return ranks; }

  std::string half(const std::string& x) { return add("half", "Mul", {x, number(0.5f)}); }

 private:
  /// In the image: [N,X,4].
  std::string join_corners(const std::string& x0, const std::string& y0, const std::string& x1, const std::string& y1) {
    return add("corners", "Concat",
               {clip(x0, limits_.width), clip(y0, limits_.height), clip(x1, limits_.width), clip(y1, limits_.height)},
               {{"axis", std::int64_t{2}}});
  }
  std::string slice_delta(const std::string& deltas, std::int64_t column, float weight) {
    const std::string delta = slice("delta", deltas, column, column + 1, 2);
    return weight == 1 ? delta : add("unweighted", "Div", {delta, number(weight)});
  }
  std::string move_centre(const std::string& deltas, std::int64_t column, const BoxWeights& weights,
                          const std::string& extent, const std::string& centre) {
    return add("centre", "Add", {add("moved", "Mul", {slice_delta(deltas, column, weights.centre), extent}), centre});
  }
  std::string grow(const std::string& deltas, std::int64_t column, const BoxWeights& weights,
                   const std::string& extent) {
    constexpr float most = 4.135166556742356f;  // log(1000 / 16), as decode_box()
    const std::string delta = add("clipped", "Min", {slice_delta(deltas, column, weights.size), number(most)});
    return half(add("grown", "Mul", {add("factor", "Exp", {delta}), extent}));
  }
  std::string clip(const std::string& x, float most) { return add("inside", "Clip", {x, number(0), number(most)}); }

  /// Ranks, too low for those of boxes with a side that is too short.
  std::string limit_sides(const Candidates& from) {
    if (limits_.least_side <= 0) return from.ranks;
    const std::string sides =
        add("sides", "Sub", {slice("far", from.boxes, 2, 4, 2), slice("near", from.boxes, 0, 2, 2)});
    const std::string shortest =
        add("shortest", "ReduceMin", {sides}, {{"axes", Ints{2}}, {"keepdims", std::int64_t{0}}});
    const std::string is_long = add("is_long", "GreaterOrEqual", {shortest, number(limits_.least_side)});
    return add("ranks_of_long", "Where", {is_long, from.ranks, number(too_low())});
  }
  float too_low() const { return limits_.rank - std::max(1.0f, std::abs(limits_.rank)); }

  /// The ranks of the candidates that are kept, others too low: [N,T].
  std::string suppress(const Candidates& from) {
    Ints numbers;
    for (std::int64_t group = 0; group < from.group_count; ++group) numbers.push_back(group);
    const std::string each = to_.constant(name("groups"), {1, from.group_count, 1}, numbers);
    const std::string is_group = add("is_group", "Equal", {unsqueeze("groups", from.groups, {1}), each});
    const std::string by_group =
        add("by_group", "Where", {is_group, unsqueeze("ranks", limit_sides(from), {1}), number(too_low())});
    const std::string selected =
        add("selected", "NonMaxSuppression",
            {from.boxes, by_group, integers({limits_.per_image}), number(limits_.overlap), number(limits_.rank)});
    const std::string where =
        add("where", "Gather", {selected, integers({0, 2})}, {{"axis", one}});  // image, candidate
    const std::string none = add("none", "Min", {from.ranks, number(too_low())});
    return add("kept_ranks", "ScatterND", {none, where, add("selected_ranks", "GatherND", {from.ranks, where})});
  }

  /// Unused rows: zeros, of class -1.
  std::string pad(const std::string& rows, std::int64_t count) {
    const std::string zeros = add("padded", "Pad", {rows, integers({0, 0, 0, 0, count, 0})});
    std::vector<float> offsets(static_cast<std::size_t>(limits_.per_image * DetectObjects::columns));
    for (std::int64_t row = limits_.per_image - count; row < limits_.per_image; ++row) {
      offsets[static_cast<std::size_t>(row * DetectObjects::columns + DetectObjects::label)] = -1;
    }
    return add("rows", "Add",
               {zeros, to_.constant(name("unused"), {1, limits_.per_image, DetectObjects::columns}, offsets)});
  }

  Limits limits_;
};

/// Translates one detect_objects. A: anchors, K: classes.
class ObjectTranslation final : public DetectionTranslation {
 public:
  ObjectTranslation(const Node& node, Translation& t, const DetectionAttributes& attributes)
      : DetectionTranslation(node, t,
                             {find_least_logit(attributes.score), attributes.overlap, attributes.least_side,
                              attributes.width, attributes.height, attributes.per_image}),
        attributes_(attributes),
        classes_(t.shape(node.inputs[DetectObjects::logits])[2]),
        logits_(t.name(node.inputs[DetectObjects::logits])),
        deltas_(t.name(node.inputs[DetectObjects::deltas])) {}

  /// The detections [N,D,6].
  std::string translate() {
    Candidates candidates;
    const std::string anchors = choose(candidates);
    const AnchorParts from = describe_anchors();
    const bool are_distances = attributes_.form == BoxForm::distances;
    candidates.boxes =
        gather("boxes", are_distances ? decode_distances(deltas_, from) : decode(deltas_, from, {}), anchors, 4);
    return detect(candidates).rows;
  }

 private:
  /// Candidates are ranked by logits: logistic scores far below others would be equal to 0.
  std::string score(const std::string& ranks) override { return add("scores", "Sigmoid", {ranks}); }
  static float find_least_logit(float score) {
    constexpr float any = -1e30f;
    return score > 0 ? std::log(score / (1 - score)) : any;
  }

  /// The best pairs of an anchor and a class of each level, all but their boxes. Returns their anchors, [N,T].
  std::string choose(Candidates& to) {
    OnnxGraph::Names logits, positions;
    Ints levels;
    for (std::int32_t i = 0; i < attributes_.anchors.levels; ++i) {
      const AnchorLevel& level = attributes_.anchors.level[i];
      const std::int64_t count = std::min<std::int64_t>(attributes_.per_level, level.count() * classes_);
      const std::string part = slice("level", logits_, level.first, level.first + level.count(), 1);
      const Top best = add_top("candidates", reshape("pairs", part, {0, -1}), count);
      logits.push_back(best.values);
      positions.push_back(add("positions", "Add", {best.indices, integers({level.first * classes_})}));
      levels.insert(levels.end(), static_cast<std::size_t>(count), i);
      to.count += count;
    }
    const std::string position = add("position", "Concat", positions, {{"axis", one}});
    to.labels = add("labels", "Mod", {position, integers({classes_})});
    to.ranks = add("logit", "Concat", logits, {{"axis", one}});
    const bool by_class = attributes_.within == SuppressWithin::classes;
    to.groups = by_class ? to.labels : to_.constant(name("levels"), {1, to.count}, levels);
    to.group_count = by_class ? classes_ : attributes_.anchors.levels;
    return add("anchors", "Div", {position, integers({classes_})});
  }

  AnchorParts describe_anchors() {
    const std::int64_t count = attributes_.anchors.count();
    std::vector<float> width, height, x, y;
    for (std::int64_t i = 0; i < count; ++i) {
      const CornerBox anchor = attributes_.anchors.at(i);
      width.push_back(anchor.width());
      height.push_back(anchor.height());
      x.push_back(anchor.x0 + 0.5f * anchor.width());
      y.push_back(anchor.y0 + 0.5f * anchor.height());
    }
    const auto constant = [&](const char* part, const std::vector<float>& values) {
      return to_.constant(name(part), {1, count, 1}, values);
    };
    return {constant("width", width), constant("height", height), constant("x", x), constant("y", y)};
  }

  const DetectionAttributes& attributes_;
  std::int64_t classes_;
  std::string logits_, deltas_;
};

/// Translates one detect_regions. R: regions, C: classes with the background.
class RegionTranslation final : public DetectionTranslation {
 public:
  RegionTranslation(const Node& node, Translation& t, const RegionDetectionAttributes& attributes)
      : DetectionTranslation(node, t,
                             {attributes.score, attributes.overlap, attributes.least_side, attributes.width,
                              attributes.height, attributes.per_image}),
        attributes_(attributes),
        regions_(t.shape(node.inputs[DetectRegions::logits])[1]),
        classes_(t.shape(node.inputs[DetectRegions::logits])[2]),
        corners_(slice("region", t.name(node.inputs[DetectRegions::regions]), 0, 4, 2)),
        logits_(t.name(node.inputs[DetectRegions::logits])),
        deltas_(t.name(node.inputs[DetectRegions::deltas])) {}

  struct Result {
    std::string detections, logit_classes;  // [N,D,6], i64 [N,D]
  };
  Result translate() {
    const std::int64_t objects = classes_ - 1;
    Candidates to;
    to.count = regions_ * std::min(objects, DetectRegions::max_classes_per_region(attributes_, classes_));
    const std::string shares = add("shares", "Softmax", {logits_}, {{"axis", std::int64_t{2}}});
    const std::string pairs = reshape("pairs", slice("object_shares", shares, 1, classes_, 2), {0, -1});
    const Top best = add_top("candidates", pairs, to.count);
    to.ranks = best.values;
    to.labels = to.groups = add("labels", "Mod", {best.indices, integers({objects})});
    to.group_count = objects;
    const std::string regions = add("regions", "Div", {best.indices, integers({objects})});
    const std::string own = add("first_delta", "Mul", {regions, integers({classes_})});
    const std::string rows = add("delta_row", "Add", {own, add("logit_class", "Add", {to.labels, integers({1})})});
    const std::string deltas = gather("deltas", reshape("by_class", deltas_, {0, -1, 4}), rows, 4);
    to.boxes = decode(deltas, measure(gather("corners_of", corners_, regions, 4)), attributes_.weights);

    const Detections found = detect(to);
    const std::string classes = add("found_class", "Add", {found.labels, integers({1})});
    const std::string used = add("used_class", "Mul", {classes, cast("used", found.is_object, OnnxType::i64)});
    const std::int64_t unused = attributes_.per_image - std::min<std::int64_t>(to.count, attributes_.per_image);
    return {found.rows, unused == 0 ? used : add("all_classes", "Pad", {used, integers({0, 0, 0, unused})})};
  }

 private:
  AnchorParts measure(const std::string& corners) {
    const auto column = [&](std::int64_t number) { return slice("corner", corners, number, number + 1, 2); };
    const std::string x0 = column(0), y0 = column(1);
    const std::string width = add("width", "Sub", {column(2), x0}), height = add("height", "Sub", {column(3), y0});
    return {width, height, add("x", "Add", {x0, half(width)}), add("y", "Add", {y0, half(height)})};
  }

  const RegionDetectionAttributes& attributes_;
  std::int64_t regions_, classes_;
  std::string corners_, logits_, deltas_;
};

/// Translates one roi_align: every region on every map, of which its own is chosen.
class RoiTranslation : public NodeTranslation {
 public:
  RoiTranslation(const Node& node, Translation& t)
      : NodeTranslation(node, t), t_(t), attributes_(get_op<RoiAlign>(node).attrs()) {}

  /// [N*R,C,bins,bins].
  std::string translate() {
    const std::string corners = slice("corners", t_.name(node_.inputs[RoiAlign::boxes]), 0, 4, 2);
    const std::string boxes = reshape("boxes", corners, {-1, 4}), images = number_images(corners);
    std::string aligned = align(boxes, images, 0);
    if (attributes_.levels.count == 1) return aligned;
    const std::string levels = choose_levels(boxes);
    for (std::int32_t level = 1; level < attributes_.levels.count; ++level) {
      const std::string is_own = add("is_own", "Equal", {levels, to_.scalar(name("level"), static_cast<float>(level))});
      aligned = add("chosen", "Where", {is_own, align(boxes, images, level), aligned});
    }
    return aligned;
  }

 private:
  /// The image of each region: i64 [N*R].
  std::string number_images(const std::string& corners) {
    const std::int64_t zero = 0, step = 1, regions = t_.shape(node_.inputs[RoiAlign::boxes])[1];
    const std::string count = add("image_count", "Squeeze",
                                  {add("shape", "Shape", {corners}, {{"start", zero}, {"end", one}}), integers({0})});
    const auto scalar = [&](std::int64_t value) { return to_.constant(name("scalar"), {}, std::span(&value, 1)); };
    const std::string numbers = add("numbers", "Range", {scalar(zero), count, scalar(step)});
    const std::string all = add("all", "Expand", {unsqueeze("numbers", numbers, {1}), integers({1, regions})});
    return reshape("image", all, {-1});
  }

  std::string align(const std::string& boxes, const std::string& images, std::int32_t level) {
    const ValueId map = node_.inputs[std::size_t{RoiAlign::maps} + static_cast<std::size_t>(level)];
    const std::int64_t bins = attributes_.bins, samples = attributes_.samples;
    return add("aligned", "RoiAlign", {t_.name(map), boxes, images},
               {{"output_height", bins},
                {"output_width", bins},
                {"sampling_ratio", samples},
                {"spatial_scale", attributes_.levels.scale(level)},
                {"mode", std::string("avg")},
                {"coordinate_transformation_mode", std::string("output_half_pixel")}});
  }

  /// RoiLevels::choose() of boxes [N*R,4]: [N*R,1,1,1].
  std::string choose_levels(const std::string& boxes) {
    const std::string sides = add("sides", "Sub", {slice("far", boxes, 2, 4, 1), slice("near", boxes, 0, 2, 1)});
    const std::string area = add("area", "ReduceProd", {sides}, {{"axes", Ints{1}}, {"keepdims", one}});
    const std::string size = add("size", "Div", {add("side", "Sqrt", {area}), number(224)});
    const std::string octaves =
        add("octaves", "Div", {add("logarithm", "Log", {size}), number(std::numbers::ln2_v<float>)});
    const std::string absolute = add("absolute", "Floor", {add("shifted", "Add", {octaves, number(4 + 1e-6f)})});
    const float finest = std::log2(static_cast<float>(attributes_.levels.finest_stride));
    const std::string level = add("level", "Clip",
                                  {add("relative", "Sub", {absolute, number(finest)}), number(0),
                                   number(static_cast<float>(attributes_.levels.count - 1))});
    return unsqueeze("level", level, {2, 3});
  }

  Translation& t_;
  const RoiAlignAttributes& attributes_;
};

}  // namespace

/// The means of each side's softmax.
void translate_box_distances(const Node& node, Translation& t) {
  const Shape& to = t.shape(node.outputs[0]);  // [N,A,4]
  const std::int64_t count = t.shape(node.inputs[0])[2] / to[2];
  const auto add = [&](const char* part, const char* type, const OnnxGraph::Names& inputs,
                       const std::vector<OnnxAttribute>& attributes = {}) {
    return t.to().add(node.name + "." + part, type, inputs, attributes);
  };
  const auto reshape = [&](const char* part, const std::string& x, const Ints& form) {
    const auto rank = static_cast<std::int64_t>(form.size());
    return add(part, "Reshape", {x, t.to().constant(node.name + ".form", {rank}, form)});
  };
  std::vector<float> distances;
  for (std::int64_t k = 0; k < count; ++k) distances.push_back(static_cast<float>(k));
  const std::string sides = reshape("sides", t.name(node.inputs[0]), {0, to[1], to[2], count});
  const std::string shares = add("shares", "Softmax", {sides}, {{"axis", std::int64_t{3}}});
  const std::string means =
      add("means", "MatMul", {shares, t.to().constant(node.name + ".distances", {count, 1}, distances)});
  t.name(node.outputs[0], reshape("distances", means, {0, to[1], to[2]}));
}

void translate_detect_objects(const Node& node, Translation& translation) {
  const DetectionAttributes& attributes = get_op<DetectObjects>(node).attrs();
  translation.name(node.outputs[0], ObjectTranslation(node, translation, attributes).translate());
}

void translate_detect_regions(const Node& node, Translation& translation) {
  const RegionDetectionAttributes& attributes = get_op<DetectRegions>(node).attrs();
  const auto found = RegionTranslation(node, translation, attributes).translate();
  translation.name(node.outputs[DetectRegions::detections], found.detections);
  translation.name(node.outputs[DetectRegions::logit_classes], found.logit_classes);
}

void translate_roi_align(const Node& node, Translation& translation) {
  translation.name(node.outputs[0], RoiTranslation(node, translation).translate());
}

}  // namespace ptrain
