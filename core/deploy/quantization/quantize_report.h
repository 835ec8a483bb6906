// Report of a quantization: `ptrain.quantize/1`.
#pragma once

#include "core/report/fields.h"
#include "core/report/metric.h"
#include "core/tasks/prediction.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

/// Predictions for the same inputs before and after.
struct PairedAccuracy {
  std::int64_t samples = 0;
  double before = 0, after = 0;    // fraction correct
  std::int64_t lost = 0, won = 0;  // correct only before, correct only after
  double p_value = 1;

  void describe(Fields& field);
};

/// The primary metric of tasks that predict more than a class or value for each input.
struct MetricBeforeAndAfter {
  std::string name, title;
  double before = 0, after = 0;

  void describe(Fields& field);
};

struct LogitError {
  double relative = 0, largest = 0;
  std::optional<double> agreement = {};  // fraction of inputs with the same class; absent: predictions are not classes

  void describe(Fields& field);
};

struct QuantizedLayer {
  std::string name, op, left_because;  // left_because empty: computed in 8 bits
  double error = 0;
  double real_ms = 0, int8_ms = 0;
  std::string input, method;

  void describe(Fields& field);
};

struct SpeedBeforeAndAfter {
  std::int64_t batch_size = 0;
  int rounds = 0;
  double before = 0, after = 0, ratio = 0;

  void describe(Fields& field);
};

struct QuantizeReport {
  std::string model, out, library, precision, method, calibration_hash;
  std::int64_t calibration_samples = 0;
  std::string evaluated_on;
  std::optional<PairedAccuracy> accuracy;
  std::optional<MetricBeforeAndAfter> metric;
  LogitError logits;
  std::int64_t bytes_before = 0, bytes_after = 0;
  std::optional<SpeedBeforeAndAfter> speed;
  std::vector<QuantizedLayer> layers;
  std::vector<std::string> notes;

  void describe(Fields& field);
};

/// Two-sided exact McNemar test: probability of a split of lost + won changed predictions at least this uneven if both
/// are equally likely (binomial distribution with 1/2).
double mcnemar_p_value(std::int64_t lost, std::int64_t won);

/// A model's predictions for some inputs: its scores, row after row, and their meaning.
struct Answers {
  std::vector<float> scores;
  std::vector<Prediction> predictions;
  std::optional<MetricValue> metric = {};  // as MetricBeforeAndAfter has it; absent without labels
};

/// Compares inputs with a known class; none if predictions are not classes or no label is known.
std::optional<PairedAccuracy> pair_accuracy(const Answers& before, const Answers& after);
std::optional<MetricBeforeAndAfter> compare_metric(const Answers& before, const Answers& after);
LogitError compare_logits(const Answers& before, const Answers& after);

}  // namespace ptrain
