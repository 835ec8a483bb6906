#include "core/train/evaluator.h"

#include "core/base/clock.h"
#include "core/data/loader/loader.h"
#include "core/data/tensor_names.h"
#include "core/model/model.h"
#include "core/runtime/feeder.h"
#include "core/runtime/weights.h"
#include "core/train/settings.h"

#include <algorithm>
#include <memory>

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
    : config_(config),
      plans_(plans),
      data_(data),
      decoders_(decoders),
      ranks_(ranks),
      observer_(observer),
      task_(plans.task()),
      metrics_(task_.metrics(config.model.classes)) {}

EvalResult Evaluator::run(std::int64_t step, std::int64_t epoch) {
  ranks_.note("evaluating", step);
  refresh_low_precision(plans_.variables(), LowCopies::untrained);
  const AveragedWeights averaged(plans_.variables());
  EvalResult result = evaluate();
  result.step = step;
  result.epoch = epoch;
  ranks_.agree_on_signal();
  if (ranks_.signal() != 0) return result;
  if (!results_.empty()) results_.back().classes.reset();
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
  const std::unique_ptr<Metrics> metrics = make_metrics();
  const auto answers = [&](const Plan& plan) { return task_.to_scores(read_logits(plan), count_logits(plan)); };
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
    observer_.on_activity("evaluating", std::min(total, (b + 1) * at_once), total);
    if (!metrics->reads_outputs()) {
      metrics->add_batch(batch, loss, {});
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
    metrics->add_batch(batch, loss, logits);
    if (config_.output.predictions) keep_predictions(batch, logits, valid);
  }
  EvalResult result = result_of(*metrics);
  result.seconds = watch.seconds() - (plans.compile_seconds() - compiled_before);
  return result;
}

void Evaluator::keep_predictions(const Batch& batch, std::span<const float> logits, std::int64_t valid) {
  const std::size_t classes = logits.size() / static_cast<std::size_t>(batch.rows());
  const auto rows = static_cast<std::size_t>(valid);
  if (batch.has(tensor_names::values)) {
    const auto values = batch.values<float>(tensor_names::values);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto index = static_cast<double>(batch.sample_indices[row]);
      predictions_.push_back({index, double{values[row]}, double{logits[row]}});
    }
    return;
  }
  const auto labels = batch.values<std::int32_t>(tensor_names::labels);
  for (std::size_t row = 0; row < rows; ++row) {
    predictions_.push_back(
        make_prediction(batch.sample_indices[row], labels[row], logits.subspan(row * classes, classes)));
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

std::unique_ptr<Metrics> Evaluator::make_metrics() const {
  return task_.make_metrics(config_.model.classes, data_.info().class_names);
}

EvalResult Evaluator::result_of(const Metrics& counted) const {
  const std::unique_ptr<Metrics> all = make_metrics();
  for (const std::vector<double>& rank : ranks_.collect(counted.state())) all->merge(rank);
  EvalResult result;
  result.loss = all->mean_loss();
  result.evaluation = all->evaluation();
  result.classes = all->details();
  return result;
}

}  // namespace ptrain
