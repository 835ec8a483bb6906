// The ONNX translation of ops that detectors with anchors have.
#include "core/deploy/onnx/translation.h"

#include "core/ops/detection/detect_objects.h"

#include <algorithm>

namespace ptrain {
namespace {

using Ints = std::vector<std::int64_t>;

/// Translates one detect_objects. N: images, A: anchors, K: classes, T: candidates, D: objects kept.
class DetectionTranslation {
 public:
  DetectionTranslation(const Node& node, Translation& t)
      : node_(node),
        to_(t.to()),
        attributes_(get_op<DetectObjects>(node).attrs()),
        classes_(t.shape(node.inputs[DetectObjects::logits])[2]),
        logits_(t.name(node.inputs[DetectObjects::logits])),
        deltas_(t.name(node.inputs[DetectObjects::deltas])) {}

  /// The detections [N, D, 6].
  std::string translate() {
    choose_candidates();
    const std::string boxes = gather("boxes", decode_boxes(), anchors_, 4);  // [N,T,4]
    const std::string kept = suppress(boxes);                                // [N,T]
    const std::int64_t found = std::min<std::int64_t>(candidates_, attributes_.per_image);
    const auto best = add_top("kept", kept, found);
    const std::string is_object = add("is_object", "Greater", {best.values, number(0)});
    const auto choose = [&](const char* name, const std::string& value, float otherwise) {
      return add(name, "Where", {unsqueeze("is_object", is_object, 2), value, number(otherwise)});
    };
    const std::string labels = add("label", "GatherElements", {labels_, best.indices}, {{"axis", one}});
    const std::string classes = add("class", "Cast", {labels}, {{"to", static_cast<std::int64_t>(OnnxType::f32)}});
    std::string rows = add("rows", "Concat",
                           {choose("box", gather("box", boxes, best.indices, 4), 0), unsqueeze("score", best.values, 2),
                            choose("class", unsqueeze("class", classes, 2), -1)},
                           {{"axis", std::int64_t{2}}});
    if (found == attributes_.per_image) return rows;
    return pad(rows, attributes_.per_image - found);
  }

 private:
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
  std::string unsqueeze(const std::string& part, const std::string& x, std::int64_t axis) {
    return add(part + ".unsqueezed", "Unsqueeze", {x, integers({axis})});
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
        add(part + ".indices", "Expand", {unsqueeze(part, indices, 2), integers({1, 1, width})});
    return add(part, "GatherElements", {x, expanded}, {{"axis", one}});
  }

  /// The best pairs of an anchor and a class of each level: their anchors, labels and scores, [N,T] each.
  void choose_candidates() {
    OnnxGraph::Names logits, positions;
    for (std::int32_t i = 0; i < attributes_.anchors.levels; ++i) {
      const AnchorLevel& level = attributes_.anchors.level[i];
      const std::int64_t count = std::min<std::int64_t>(attributes_.per_level, level.count() * classes_);
      const std::string part = add(
          "level", "Slice", {logits_, integers({level.first}), integers({level.first + level.count()}), integers({1})});
      const Top best = add_top("candidates", add("pairs", "Reshape", {part, integers({0, -1})}), count);
      logits.push_back(best.values);
      positions.push_back(add("positions", "Add", {best.indices, integers({level.first * classes_})}));
      candidates_ += count;
    }
    const std::string position = add("position", "Concat", positions, {{"axis", one}});
    anchors_ = add("anchors", "Div", {position, integers({classes_})});
    labels_ = add("labels", "Mod", {position, integers({classes_})});
    scores_ = add("scores", "Sigmoid", {add("logit", "Concat", logits, {{"axis", one}})});
  }

  /// Column `column` of the deltas, times and plus a value per anchor: [N,A,1].
  std::string move_centre(std::int64_t column, const std::string& factor, const std::string& offset) {
    const std::string delta = slice_delta(column);
    return add("centre", "Add", {add("moved", "Mul", {delta, factor}), offset});
  }
  std::string grow(std::int64_t column, const std::string& extent) {
    constexpr float most = 4.135166556742356f;  // log(1000 / 16), as decode_box()
    const std::string delta = add("clipped", "Min", {slice_delta(column), number(most)});
    const std::string grown = add("grown", "Mul", {add("factor", "Exp", {delta}), extent});
    return add("half", "Mul", {grown, number(0.5f)});
  }
  std::string slice_delta(std::int64_t column) {
    return add("delta", "Slice", {deltas_, integers({column}), integers({column + 1}), integers({2})});
  }
  std::string clip(const std::string& x, float most) { return add("inside", "Clip", {x, number(0), number(most)}); }

  /// All boxes, as decode_box() and clip_box() make them: [N,A,4].
  std::string decode_boxes() {
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
    const std::string widths = constant("width", width), heights = constant("height", height);
    const std::string centre_x = move_centre(0, widths, constant("x", x));
    const std::string centre_y = move_centre(1, heights, constant("y", y));
    const std::string half_width = grow(2, widths), half_height = grow(3, heights);
    return add("corners", "Concat",
               {clip(add("x0", "Sub", {centre_x, half_width}), attributes_.width),
                clip(add("y0", "Sub", {centre_y, half_height}), attributes_.height),
                clip(add("x1", "Add", {centre_x, half_width}), attributes_.width),
                clip(add("y1", "Add", {centre_y, half_height}), attributes_.height)},
               {{"axis", std::int64_t{2}}});
  }

  /// The scores of the candidates that are kept, others 0: [N,T].
  std::string suppress(const std::string& boxes) {
    Ints numbers;
    for (std::int64_t label = 0; label < classes_; ++label) numbers.push_back(label);
    const std::string each = to_.constant(name("classes"), {1, classes_, 1}, numbers);
    const std::string is_class = add("is_class", "Equal", {unsqueeze("labels", labels_, 1), each});
    const std::string by_class = add("by_class", "Where", {is_class, unsqueeze("scores", scores_, 1), number(0)});
    const std::string selected = add(
        "selected", "NonMaxSuppression",
        {boxes, by_class, integers({attributes_.per_image}), number(attributes_.overlap), number(attributes_.score)});
    const std::string where =
        add("where", "Gather", {selected, integers({0, 2})}, {{"axis", one}});  // image, candidate
    const std::string none = add("none", "Mul", {scores_, number(0)});
    return add("kept_scores", "ScatterND", {none, where, add("selected_scores", "GatherND", {scores_, where})});
  }

  /// Unused rows: zeros, of class -1.
  std::string pad(const std::string& rows, std::int64_t count) {
    const std::string zeros = add("padded", "Pad", {rows, integers({0, 0, 0, 0, count, 0})});
    std::vector<float> offsets(static_cast<std::size_t>(attributes_.per_image * DetectObjects::columns));
    for (std::int64_t row = attributes_.per_image - count; row < attributes_.per_image; ++row) {
      offsets[static_cast<std::size_t>(row * DetectObjects::columns + DetectObjects::label)] = -1;
    }
    return add("rows", "Add",
               {zeros, to_.constant(name("unused"), {1, attributes_.per_image, DetectObjects::columns}, offsets)});
  }

  const Node& node_;
  OnnxGraph& to_;
  const DetectionAttributes& attributes_;
  std::int64_t classes_;
  std::string logits_, deltas_;
  std::int64_t candidates_ = 0;
  std::string anchors_, labels_, scores_;
};

}  // namespace

void translate_detect_objects(const Node& node, Translation& translation) {
  translation.name(node.outputs[0], DetectionTranslation(node, translation).translate());
}

}  // namespace ptrain
