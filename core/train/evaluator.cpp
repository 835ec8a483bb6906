#include "core/train/evaluator.h"

#include "core/base/clock.h"
#include "core/data/loader/loader.h"
#include "core/data/tensor_names.h"
#include "core/model/model.h"
#include "core/runtime/feeder.h"
#include "core/runtime/weights.h"
#include "core/train/settings.h"

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

/// Every image of the batch from right to left.
Batch mirrored(const Batch& batch) {
  Batch mirror = batch;
  const auto width = static_cast<std::ptrdiff_t>(image_size_of(batch)) * 3;
  const auto pixels = mirror.values<std::uint8_t>(tensor_names::images);
  for (auto row = pixels.begin(); row != pixels.end(); row += width) {
    std::reverse(row, row + width);  // and the colours of each pixel
    for (auto pixel = row; pixel != row + width; pixel += 3) std::swap(pixel[0], pixel[2]);
  }
  return mirror;
}

}  // namespace

Evaluator::Evaluator(const Config& config, RunPlans& plans, const Dataset& data, const MakeImageDecoder& decoders,
                     Ranks& ranks, TrainObserver& observer)
    : config_(config), plans_(plans), data_(data), decoders_(decoders), ranks_(ranks), observer_(observer) {}

EvalResult Evaluator::run(std::int64_t step, std::int64_t epoch) {
  ranks_.note("evaluating", step);
  refresh_low_precision(plans_.variables(), LowCopies::untrained);
  const AveragedWeights averaged(plans_.variables());
  EvalResult result = evaluate();
  result.step = step;
  result.epoch = epoch;
  ranks_.agree_on_signal();
  if (ranks_.signal() != 0) return result;
  if (!results_.empty()) results_.back().classes = {};
  results_.push_back(result);
  observer_.on_eval(result);
  return result;
}

EvalResult Evaluator::evaluate() {
  PlanSet& plans = plans_.evaluation();
  predictions_.clear();
  const Stopwatch watch;
  const double compiled_before = plans.compile_seconds();
  LoaderOptions options = loader_options(config_, Split::eval);
  ranks_.shard(options);
  options.samples = config_.eval.max_samples;
  options.make_decoder = decoders_;
  Loader loader(data_, options);
  const std::int64_t total = options.samples > 0 ? std::min(options.samples, data_.size()) : data_.size();
  const bool classifies = data_.info().head == Head::classification;
  const bool reads_logits = data_.info().kind != DataKind::tokens;
  RegressionMetrics values;
  ClassificationMetrics metrics(reads_logits ? class_count(plans.largest()) : 1);
  const auto answers = [&](const Plan& plan) { return classifies ? read_class_logits(plan) : read_logits(plan); };
  const std::int64_t at_once = options.batch_size * options.world_size;
  for (std::int64_t b = 0; b < (total + at_once - 1) / at_once; ++b) {
    if (SignalGuard::received() != 0) break;
    const Batch& batch = loader.next();
    const std::int64_t valid = batch.count;
    if (valid == 0) continue;
    Plan& plan = plans.for_batch(batch).plan;
    feed(plan, batch);
    plan.run(Phase::forward, Phase::forward);
    float loss = 0;
    plan.read_output(tensor_names::loss, &loss, sizeof loss);
    metrics.add_loss(loss, valid);
    observer_.on_activity("evaluating", std::min(total, (b + 1) * at_once), total);
    if (!reads_logits) {
      metrics.add_samples(valid);
      continue;
    }
    std::vector<float> logits = answers(plan);
    if (config_.eval.flip) {
      feed(plan, mirrored(batch));
      plan.run(Phase::forward, Phase::forward);
      const std::vector<float> others = answers(plan);
      std::transform(logits.begin(), logits.end(), others.begin(), logits.begin(),
                     [](float one, float other) { return (one + other) / 2; });
    }
    if (classifies) {
      metrics.add(logits, batch.values<std::int32_t>(tensor_names::labels).first(static_cast<std::size_t>(valid)));
    } else {
      const auto rows = static_cast<std::size_t>(valid);
      values.add(std::span(logits).first(rows), batch.values<float>(tensor_names::values).first(rows));
    }
    if (config_.output.predictions) keep_predictions(batch, logits, valid);
  }
  EvalResult result = result_of(metrics, values);
  result.seconds = watch.seconds() - (plans.compile_seconds() - compiled_before);
  return result;
}

void Evaluator::keep_predictions(const Batch& batch, std::span<const float> logits, std::int64_t valid) {
  const std::size_t classes = logits.size() / static_cast<std::size_t>(batch.rows());
  const bool values = batch.has(tensor_names::values);
  for (std::size_t row = 0; row < static_cast<std::size_t>(valid); ++row) {
    const std::int64_t index = batch.sample_indices[row];
    predictions_.push_back(values
                               ? Prediction{static_cast<double>(index),
                                            double{batch.values<float>(tensor_names::values)[row]}, double{logits[row]}}
                               : make_prediction(index, batch.values<std::int32_t>(tensor_names::labels)[row],
                                                 logits.subspan(row * classes, classes)));
  }
}

std::vector<Prediction> Evaluator::predictions() const {
  constexpr std::size_t numbers = sizeof(Prediction) / sizeof(double);
  std::vector<double> mine;
  for (const Prediction& one : predictions_) {
    mine.insert(mine.end(), {one.index, one.truth, one.answer, one.probability});
  }
  std::vector<Prediction> all;
  for (const std::vector<double>& rank : ranks_.collect(mine)) {
    for (std::size_t i = 0; i < rank.size(); i += numbers)
      all.push_back({rank[i], rank[i + 1], rank[i + 2], rank[i + 3]});
  }
  return all;
}

EvalResult Evaluator::result_of(const ClassificationMetrics& classes, const RegressionMetrics& values) const {
  constexpr std::int64_t most_confused = 100;  // classes whose confusion matrix is kept
  EvalResult result;
  if (data_.info().head == Head::regression) {
    RegressionMetrics all;
    for (const std::vector<double>& rank : ranks_.collect(values.packed())) all.add_packed(rank);
    result.samples = all.samples();
    result.values = all.figures();
    result.loss = result.values->mse.value_or(0);
    return result;
  }
  ClassificationMetrics metrics(classes.classes());
  for (const std::vector<double>& rank : ranks_.collect(classes.packed())) metrics.add_packed(rank);
  result.samples = metrics.samples();
  result.loss = metrics.mean_loss();
  if (data_.info().kind == DataKind::tokens) {
    constexpr double most = 700;  // whose exponential is a number
    result.perplexity = std::exp(std::min(result.loss, most));
    return result;
  }
  result.top1 = metrics.top1();
  result.top5 = metrics.top5();
  result.f1 = metrics.classes() == 2 ? metrics.f1() : 0.0;
  result.balance = metrics.balance();
  result.classes = metrics.report(data_.info().class_names);
  if (metrics.classes() > most_confused) result.classes.confusion.clear();
  return result;
}

}  // namespace ptrain
