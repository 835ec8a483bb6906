#include "core/deploy/quantization/quantize_report.h"

#include "core/report/statistics.h"

#include <algorithm>
#include <cmath>

namespace ptrain {

void PairedAccuracy::describe(Fields& field) {
  field("samples", samples, "inputs with a label");
  field("before", before, "fraction correct in fp32");
  field("after", after, "likewise, quantized");
  field("lost", lost, "inputs correct in fp32 only");
  field("won", won, "inputs correct in the quantized model only");
  field("p_value", p_value, "p-value of McNemar's exact test: small if lost and won differ by more than chance");
}

void MetricBeforeAndAfter::describe(Fields& field) {
  field("name", name, "");
  field("title", title, "name for people");
  field("before", before, "in fp32");
  field("after", after, "quantized");
}

void LogitError::describe(Fields& field) {
  field("relative", relative, "root mean square of the differences over that of the logits in fp32");
  field("largest", largest, "difference");
  field("agreement", agreement,
        "fraction of the inputs with the same predicted class; null: predictions are not classes");
}

void QuantizedLayer::describe(Fields& field) {
  field("name", name, "name in the deployed graph");
  field("op", op, "");
  field("left_because", left_because, "why it is not computed in 8 bits; empty: it is");
  field("error", error, "root mean square error of its result in 8 bits, over the root mean square of the result");
  field("real_ms", real_ms, "time of a batch in the model's precision; 0: not timed");
  field("int8_ms", int8_ms, "time of a batch in 8 bits, including quantizing fp32 inputs");
  field("input", input, "format of its input: dtype*scale");
  field("method", method, "method by which the format was chosen");
}

void SpeedBeforeAndAfter::describe(Fields& field) {
  field("batch_size", batch_size, "samples computed at once");
  field("rounds", rounds, "rounds, in which both models ran interleaved");
  field("before", before, "samples/s of the round of median ratio, in the precision of layers left in float");
  field("after", after, "samples/s of that round, quantized");
  field("ratio", ratio, "after over before: the median of the rounds");
}

void QuantizeReport::describe(Fields& field) {
  field.document("ptrain.quantize/1", "Report of quantizing a trained model to 8 bits.");
  field("model", model, "folder of the model");
  field("out", out, "the quantized model's folder");
  field("library", library, "compute library and instruction set");
  field("precision", precision, "AMP level of layers left in float");
  field("method", method, "how scales were chosen");
  field("calibration_samples", calibration_samples, "samples used for calibration");
  field("calibration_hash", calibration_hash, "hash of these samples");
  field("evaluated_on", evaluated_on, "samples used to compare accuracy and logits");
  field("accuracy", accuracy, "null: no labels");
  field("metric", metric, "of tasks with more than a class or value for each input; null: other tasks, or no labels");
  field("logits", logits, "quantized against fp32");
  field("bytes_before", bytes_before, "size of the weights file");
  field("bytes_after", bytes_after, "size of the weights file");
  field("speed", speed, "null: not measured");
  field("layers", layers, "every convolution and linear layer");
  field("notes", notes, "");
}

double mcnemar_p_value(std::int64_t lost, std::int64_t won) {
  const std::int64_t changed = lost + won, fewer = std::min(lost, won);
  const double log_outcomes = static_cast<double>(changed) * std::log(2.0);
  double sum = 0;
  for (std::int64_t i = 0; i <= fewer; ++i) sum += std::exp(log_choose(changed, i) - log_outcomes);
  return std::min(1.0, 2 * sum);
}

std::optional<PairedAccuracy> pair_accuracy(const Answers& before, const Answers& after) {
  PairedAccuracy paired;
  std::int64_t right_before = 0, right_after = 0;
  for (std::size_t i = 0; i < before.predictions.size(); ++i) {
    const Prediction &was = before.predictions[i], &is = after.predictions[i];
    if (!was.has_label() || !was.probability) continue;
    ++paired.samples;
    right_before += was.is_wrong() ? 0 : 1;
    right_after += is.is_wrong() ? 0 : 1;
    paired.lost += !was.is_wrong() && is.is_wrong() ? 1 : 0;
    paired.won += was.is_wrong() && !is.is_wrong() ? 1 : 0;
  }
  if (paired.samples == 0) return std::nullopt;
  paired.before = static_cast<double>(right_before) / static_cast<double>(paired.samples);
  paired.after = static_cast<double>(right_after) / static_cast<double>(paired.samples);
  paired.p_value = mcnemar_p_value(paired.lost, paired.won);
  return paired;
}

std::optional<MetricBeforeAndAfter> compare_metric(const Answers& before, const Answers& after) {
  if (!before.metric || !after.metric) return std::nullopt;
  return MetricBeforeAndAfter{before.metric->name, before.metric->title, *before.metric->value, *after.metric->value};
}

/// None where predictions are label maps, boxes or values, which are never quite equal.
static std::optional<double> measure_agreement(const std::vector<Prediction>& before,
                                               const std::vector<Prediction>& after) {
  std::int64_t same = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!before[i].probability) return std::nullopt;
    same += before[i].answer == after[i].answer ? 1 : 0;
  }
  return static_cast<double>(same) / static_cast<double>(before.size());
}

LogitError compare_logits(const Answers& before, const Answers& after) {
  double changed = 0, whole = 0;
  LogitError error;
  for (std::size_t i = 0; i < before.scores.size(); ++i) {
    const double was{before.scores[i]}, difference = double{after.scores[i]} - was;
    changed += difference * difference;
    whole += was * was;
    error.largest = std::max(error.largest, std::abs(difference));
  }
  error.relative = whole > 0 ? std::sqrt(changed / whole) : 0;
  error.agreement = measure_agreement(before.predictions, after.predictions);
  return error;
}

}  // namespace ptrain
