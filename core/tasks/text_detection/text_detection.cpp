#include "core/tasks/text_detection/text_detection.h"

#include "core/config/config.h"
#include "core/data/image/framing.h"
#include "core/ops/activation.h"
#include "core/tasks/loss_builder.h"
#include "core/tasks/text_detection/find_text.h"
#include "core/tasks/text_detection/text_detection_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ptrain {

void TextDetection::check(const Config& config, const RejectKey& reject) const {
  constexpr const char* reason = "is for images with one class each, here they have boxes";
  reject_class_keys(config.data, reject, reason);
  if (config.train.mixup > 0) reject("train.mixup", reason);
  if (config.train.cutmix > 0) reject("train.cutmix", reason);
  if (config.train.label_smoothing > 0) reject("train.label_smoothing", reason);
  if (config.data.trivial_augment) reject("data.trivial_augment", reason);
  if (config.data.random_erasing > 0) reject("data.random_erasing", "erases text that is learnt");
  if (config.eval.flip) reject("eval.flip", "is not possible: boxes cannot be averaged");
}

namespace {

constexpr float negatives_per_positive = 3, steepness = 50;

class TextLosses : public LossBuilder {
 public:
  TextLosses(Graph& graph, const Shape& map)
      : LossBuilder(graph, "text_loss"),
        map_(map),
        labels_(graph.add_input(tensor_names::text_map, {DType::f32, map})),
        text_(to_numbers(is_at_least(labels_, 1), DType::f32)),
        known_(to_numbers(is_at_least(labels_, 0), DType::f32)) {}

  /// Softplus is computed in fp32 at O1, and so is what follows from it.
  ValueId probability(ValueId logits) { return apply(UnaryFunction::exp, negated(loss_of_text(logits))); }

  ValueId cross_entropy(ValueId logits) {
    const ValueId others = subtract(known_, text_);
    const ValueId losses = combine(BinaryFunction::add, multiply(text_, loss_of_text(logits)),
                                   multiply(others, apply(UnaryFunction::softplus, flat(logits))));
    const ValueId texts = sum(text_), wanted = scaled(texts, negatives_per_positive);
    const ValueId candidates = multiply(probability(logits), others);
    const ValueId hardest = to_numbers(is_greater(candidates, find_limit(candidates, wanted)), DType::f32);
    const ValueId count = combine(BinaryFunction::add, texts, combine(BinaryFunction::minimum, wanted, sum(others)));
    return mean(losses, combine(BinaryFunction::add, text_, hardest), count);
  }

  ValueId threshold_distance(ValueId thresholds, ValueId targets) {
    const ValueId limited = to_numbers(is_at_least(targets, 0), DType::f32);
    return mean(apply(UnaryFunction::abs, subtract(thresholds, targets)), limited, sum(limited));
  }

  ValueId dice(ValueId probabilities, ValueId thresholds) {
    const ValueId distance = scaled(subtract(probabilities, thresholds), steepness);
    const ValueId binary = multiply(add(std::make_shared<ActivationOp>(Activation::sigmoid), {distance}), known_);
    const ValueId both = sum(multiply(binary, text_)), all = combine(BinaryFunction::add, sum(binary), sum(text_));
    constexpr float least = 1e-6f;
    const ValueId share = combine(BinaryFunction::div, both, apply(UnaryFunction::affine, all, {1, least}));
    return apply(UnaryFunction::affine, share, {-2, 1});
  }

 private:
  ValueId flat(ValueId x) { return reshape(x, map_); }
  ValueId negated(ValueId x) { return apply(UnaryFunction::neg, x); }
  ValueId scaled(ValueId x, float factor) { return apply(UnaryFunction::affine, x, {factor, 0}); }
  ValueId multiply(ValueId a, ValueId b) { return combine(BinaryFunction::mul, a, b); }
  ValueId subtract(ValueId a, ValueId b) { return combine(BinaryFunction::sub, a, b); }
  ValueId loss_of_text(ValueId logits) { return apply(UnaryFunction::softplus, negated(flat(logits))); }
  ValueId is_greater(ValueId a, ValueId b) {
    return add(std::make_shared<Compare>(CompareAttributes{Comparison::greater}), {a, b});
  }

  /// By bisection, the largest multiple of 2^-16 that at least `wanted` of the probabilities are above; 0 if there are
  /// none. Nearly as many are above it: not so where many are alike, which then count together.
  ValueId find_limit(ValueId probabilities, ValueId wanted) {
    constexpr int halvings = 16;
    ValueId limit = scaled(wanted, 0);
    for (int i = 1; i <= halvings; ++i) {
      const ValueId middle = apply(UnaryFunction::affine, limit, {1, std::ldexp(1.0f, -i)});
      const ValueId above = sum(to_numbers(is_greater(probabilities, middle), DType::f32));
      const ValueId too_few = is_greater(wanted, above);
      limit = add(std::make_shared<Where>(WhereAttributes{}), {too_few, limit, middle});
    }
    return limit;
  }

  Shape map_;
  ValueId labels_, text_, known_;  // the text map, and 1 where it is text, or where it is learnt
};

Shape get_map_shape(const Graph& graph, ValueId logits) {
  const Shape& shape = graph.desc(logits).shape;
  return {shape[0], shape[1], shape[2]};
}

}  // namespace

std::vector<Loss> TextDetection::add_losses(Graph& graph, Mode /*mode*/) const {
  constexpr float probability_weight = 5, threshold_weight = 10;
  const ValueId logits = require_output(graph, tensor_names::logits);
  const ValueId threshold_logits = graph.find_output(tensor_names::threshold_logits);
  const Shape map = get_map_shape(graph, logits);
  TextLosses losses(graph, map);
  std::vector<Loss> all{{"probability", losses.cross_entropy(logits), probability_weight}};
  if (threshold_logits == no_value) return all;
  const ValueId targets = graph.add_input(tensor_names::threshold_map, {DType::f32, map});
  const ValueId thresholds = losses.probability(threshold_logits);
  all.push_back({"threshold", losses.threshold_distance(thresholds, targets), threshold_weight});
  all.push_back({"binary", losses.dice(losses.probability(logits), thresholds)});
  return all;
}

void TextDetection::postprocess(Graph& graph) const {
  const ValueId logits = require_output(graph, tensor_names::logits);
  const ValueId map = graph.add("text_logits", std::make_shared<Reshape>(get_map_shape(graph, logits)), {logits});
  const ValueId probabilities =
      graph.add(tensor_names::text_probabilities, std::make_shared<ActivationOp>(Activation::sigmoid), {map});
  graph.clear_outputs();
  graph.set_output(tensor_names::text_probabilities, probabilities);
}

std::vector<MetricInfo> TextDetection::metrics(std::int64_t /*classes*/) const { return TextDetectionMetrics::infos(); }

std::unique_ptr<Metrics> TextDetection::make_metrics(std::int64_t /*classes*/,
                                                     const std::vector<std::string>& /*names*/) const {
  return std::make_unique<TextDetectionMetrics>();
}

std::vector<std::string> TextDetection::columns(const PredictionOptions& /*form*/) const { return {"texts", "boxes"}; }

namespace {

/// Corners of the model's input in px of the original image, which the corners of boxes at its edges are moved to.
Quad restore_corners(const Quad& quad, const FramePlacement& place) {
  Quad restored{};
  std::ranges::transform(quad, restored.begin(), [&](const Point2d& corner) -> Point2d {
    const double x = corner.x / double{place.scale_x()}, y = corner.y / double{place.scale_y()};
    return {std::round(std::clamp<double>(x, 0, place.original.width)),
            std::round(std::clamp<double>(y, 0, place.original.height))};
  });
  return restored;
}

}  // namespace

std::vector<Prediction> TextDetection::predictions(const Batch& batch, const Batch& scores,
                                                   const PredictionOptions& /*form*/) const {
  const HostTensor* const boxes = batch.find(tensor_names::text_boxes);
  const HostTensor* const placements = batch.find(tensor_names::placements);
  const ImageSize frame = find_image_size(batch);
  std::vector<Prediction> all;
  for (std::int64_t row = 0; row < batch.count; ++row) {
    const FramePlacement place =
        placements == nullptr ? FramePlacement{frame, frame} : read_placement(placements->row<float>(row));
    Prediction& made = all.emplace_back();
    made.index = index_of_row(batch, row);
    Prediction::Json found = Prediction::Json::array();
    for (const FoundText& one : find_text(batch, scores, row)) {
      made.texts.push_back({restore_corners(one.corners, place), one.score});
      const Quad& corners = made.texts.back().corners;
      found.push_back({{"points", list_corners(corners)}, {"score", one.score}});
      made.text += fmt::format("{}{:.4f} at {}", made.text.empty() ? "" : "; ", one.score, format_corners(corners));
    }
    if (made.text.empty()) made.text = "nothing";
    made.answer = found.size();
    made.cells = {std::to_string(found.size()), found.dump()};
    made.details = {{"texts", std::move(found)}};
    if (boxes == nullptr) continue;
    const std::vector<TextBox> expected = read_text_boxes(boxes->row<float>(row));
    const auto readable = std::ranges::count_if(expected, [](const TextBox& one) { return !one.ignored; });
    made.label = static_cast<std::size_t>(readable);
    made.error = std::abs(static_cast<double>(readable) - made.answer.get<double>());
  }
  return all;
}

}  // namespace ptrain
