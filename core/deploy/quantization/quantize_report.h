// What quantizing a model came to: `ptrain.quantize/1`.
#pragma once

#include "core/report/fields.h"
#include "core/tasks/prediction.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

/// Answers to the same inputs before and after.
struct PairedAccuracy {
  std::int64_t samples = 0;
  double before = 0, after = 0;    // parts that are right
  std::int64_t lost = 0, won = 0;  // right before alone, right after alone
  double p_value = 1;

  void describe(Fields& field);
};

struct LogitError {
  double relative = 0, largest = 0, agreement = 1;

  void describe(Fields& field);
};

struct QuantizedLayer {
  std::string name, op, left_because;  // empty: it is computed in 8 bits
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
  LogitError logits;
  std::int64_t bytes_before = 0, bytes_after = 0;
  std::optional<SpeedBeforeAndAfter> speed;
  std::vector<QuantizedLayer> layers;
  std::vector<std::string> notes;

  void describe(Fields& field);
};

/// Two-sided exact McNemar test: how likely so uneven a split of lost + won changed answers is where each is as likely
/// to be lost as won (the binomial distribution with 1/2).
double mcnemar_p_value(std::int64_t lost, std::int64_t won);

/// What a model answered to some inputs: its scores, all of one row after the other, and what they mean.
struct Answers {
  std::vector<float> scores;
  std::vector<Prediction> predictions;
};

/// Of the inputs whose true class is known; none where no answer is a class or no label is known.
std::optional<PairedAccuracy> pair_accuracy(const Answers& before, const Answers& after);
LogitError compare_logits(const Answers& before, const Answers& after);

}  // namespace ptrain
