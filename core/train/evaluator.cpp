#include "core/train/evaluator.h"

#include "core/base/clock.h"
#include "core/data/loader/for_each_batch.h"
#include "core/data/tensor_names.h"
#include "core/model/model.h"
#include "core/runtime/feeder.h"
#include "core/runtime/weights.h"

#include <algorithm>
#include <memory>

namespace ptrain {
namespace {

constexpr std::size_t most_confused = 100;  // classes whose confusion matrix is kept

/// Whether a plan's ranks wait for each other, and so must run it equally often.
bool exchanges(const Plan& plan) {
  return std::ranges::any_of(plan.graph().nodes(), [](const Node& node) {
    return node.op->type() == "all_reduce_wait" || node.op->type() == "exchange_ids";
  });
}

/// The batch with every image flipped horizontally.
Batch mirrored(const Batch& batch) {
  Batch mirror = batch;
  const auto width = static_cast<std::ptrdiff_t>(find_image_size(batch).width) * 3;
  const auto pixels = mirror.values<std::uint8_t>(tensor_names::images);
  for (auto row = pixels.begin(); row != pixels.end(); row += width) {
    std::reverse(row, row + width);  // restores the order of each pixel's colours
    for (auto pixel = row; pixel != row + width; pixel += 3) std::swap(pixel[0], pixel[2]);
  }
  return mirror;
}

/// Averages the scores element by element.
void average(Batch& scores, const Batch& others) {
  for (const auto& [spec, tensor] : others.entries()) {
    if (tensor.dtype() != DType::f32) continue;
    const auto mine = scores.values<float>(spec.name);
    const auto other = tensor.values<float>();
    std::ranges::transform(mine, other, mine.begin(), [](float one, float two) { return (one + two) / 2; });
  }
}

}  // namespace

Evaluator::Evaluator(const EvalConfig& eval, const OutputConfig& output, TrainingPlans& plans, const Dataset& data,
                     const MakeImageDecoder& decoders, Ranks& ranks, TrainObserver& observer)
    : eval_(eval),
      output_(output),
      plans_(plans),
      data_(data),
      loader_(plans.options().evaluation_loader),
      ranks_(ranks),
      observer_(observer),
      task_(plans.task()),
      has_loss_(task_.has_losses(Mode::evaluation)),
      metrics_(task_.metrics(plans.options().classes)) {
  loader_.samples = eval.max_samples;
  loader_.make_decoder = decoders;
}

EvalResult Evaluator::run(std::int64_t step, std::int64_t epoch) {
  ranks_.note("evaluating", step);
  refresh_low_precision(plans_.variables(), LowPrecisionCopies::untrained);
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
  Loader loader(data_, loader_);
  const std::int64_t total = loader_.samples > 0 ? std::min(loader_.samples, data_.size()) : data_.size();
  std::unique_ptr<Metrics> metrics = make_metrics();
  const bool together = exchanges(plans.largest_member().plan);
  const std::vector<std::string> outputs = names_of_outputs(plans.largest_member().plan.graph());
  const PredictionOptions form{
      .class_names = data_.info().class_names,
      .label_maps = task_.predicts_label_maps() && data_.info().classes <= most_label_map_classes};
  const std::unique_ptr<Translator> translator = plans_.make_translator(data_);
  const auto run = [&](Plan& plan, const Batch& batch) {
    feed(plan, batch);
    plan.run(Pass::forward, Pass::forward);
    return metrics->reads_outputs() ? task_.scores(read_outputs(plan, outputs)) : Batch();
  };
  for_each_batch(loader, total, loader_.batch_size * loader_.world_size, [&](const Batch& batch, std::int64_t done) {
    if (together) ranks_.agree_on_signal();
    if ((together ? ranks_.signal() : SignalGuard::received()) != 0) return false;
    if (batch.count == 0 && !together) return true;
    Plan& plan = plans.for_batch(batch).plan;
    Batch scores = run(plan, batch);
    if (batch.count == 0) return true;  // it ran for the others, which look its rows up too
    std::optional<double> loss;
    if (has_loss_) {
      float read = 0;
      plan.read_output(tensor_names::loss, &read, sizeof read);
      loss = read;
    }
    observer_.on_activity("evaluating", done, total);
    if (eval_.flip) average(scores, task_.mirrored(run(plan, mirrored(batch))));
    metrics->add_batch(batch, loss, scores);
    if (translator != nullptr) add_translations(*translator, batch, *metrics);
    if (output_.predictions) {
      std::ranges::move(task_.predictions(batch, scores, form), std::back_inserter(predictions_));
      keep_shown_label_maps(predictions_);
    }
    return true;
  });
  EvalResult result = make_result(*merge_ranks(std::move(metrics)));
  result.bad_samples = ranks_.collect(loader.bad_samples());
  result.seconds = watch.seconds() - (plans.compile_seconds() - compiled_before);
  return result;
}

void Evaluator::add_translations(Translator& translator, const Batch& batch, Metrics& metrics) const {
  std::vector<Translator::Ids> sources;
  const auto lengths = batch.values<std::int32_t>(tensor_names::lengths);
  for (std::int64_t row = 0; row < batch.count; ++row) {
    const auto ids = batch.at(tensor_names::ids).row<std::int32_t>(row);
    sources.emplace_back(ids.begin(), ids.begin() + lengths[static_cast<std::size_t>(row)]);
  }
  const std::vector<Translator::Ids> translations = translator.translate(sources);
  for (std::size_t row = 0; row < translations.size(); ++row) {
    metrics.add_text(*data_.decode(translations[row]), data_.origin(batch.sample_indices[row]).second);
  }
}

std::vector<Prediction> Evaluator::predictions() const {
  std::vector<Prediction> all;
  for (const std::string& rank : ranks_.collect(pack_predictions(predictions_))) {
    std::ranges::move(unpack_predictions(rank), std::back_inserter(all));
  }
  return all;
}

std::unique_ptr<Metrics> Evaluator::make_metrics() const {
  return task_.make_metrics(plans_.options().classes, data_.info().class_names);
}

std::unique_ptr<Metrics> Evaluator::merge_ranks(std::unique_ptr<Metrics> counted) const {
  if (!ranks_.several()) return counted;
  std::unique_ptr<Metrics> all = make_metrics();
  for (const std::vector<double>& rank : ranks_.collect(counted->state())) all->merge(rank);
  const auto parts = static_cast<std::size_t>(ranks_.largest(static_cast<double>(counted->parts())));
  for (std::size_t i = 0; i < parts; ++i) {
    const auto mine = i < counted->parts() ? counted->part(i) : std::vector<double>();
    for (const std::vector<double>& rank : ranks_.collect(mine)) {
      if (!rank.empty()) all->merge_part(rank);
    }
  }
  return all;
}

EvalResult Evaluator::make_result(const Metrics& all) const {
  EvalResult result;
  if (has_loss_) result.loss = all.mean_loss();
  result.evaluation = all.evaluation();
  result.classes = all.details();
  if (result.classes && result.classes->classes.size() > most_confused) result.classes->confusion.clear();
  return result;
}

}  // namespace ptrain
