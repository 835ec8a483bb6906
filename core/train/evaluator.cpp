#include "core/train/evaluator.h"

#include "core/base/clock.h"
#include "core/train/feeder.h"
#include "core/train/metrics.h"
#include "models/model.h"

#include <algorithm>

namespace ptrain {
namespace {

const TensorDesc& logits_of(const Plan& plan) { return plan.graph().desc(plan.graph().find_output(model_io::logits)); }

std::vector<float> read_logits(const Plan& plan) {
  const TensorDesc& desc = logits_of(plan);
  std::vector<float> logits(static_cast<std::size_t>(desc.count()));
  visit_floating(desc.dtype, [&](auto zero) {
    std::vector<decltype(zero)> raw(logits.size());
    plan.read_output(model_io::logits, raw.data(), desc.bytes());
    std::transform(raw.begin(), raw.end(), logits.begin(), [](auto value) { return static_cast<float>(value); });
  });
  return logits;
}

}  // namespace

EvalResult evaluate(PlanSet& plans, const Dataset& data, const EvaluationOptions& options) {
  const Stopwatch watch;
  const double compiled_before = plans.compile_seconds();
  Loader loader(data, options.loader);
  const std::int64_t total = options.max_samples > 0 ? std::min(options.max_samples, data.size()) : data.size();
  ClassificationMetrics metrics(logits_of(plans.largest()).shape[-1]);
  const std::int64_t at_once = options.loader.batch_size * options.loader.world_size;
  for (std::int64_t b = 0; b < (total + at_once - 1) / at_once; ++b) {
    if (options.stop && options.stop()) break;
    const Batch& batch = loader.next();
    const auto samples = std::span(batch.sample_indices).first(static_cast<std::size_t>(batch.count));
    const std::int64_t valid = std::count_if(samples.begin(), samples.end(), [&](auto index) { return index < total; });
    if (valid == 0) continue;
    Plan& plan = plans.for_batch(batch).plan;
    feed(plan, batch, valid);
    plan.run(Phase::forward, Phase::forward);
    float loss = 0;
    plan.read_output(model_io::loss, &loss, sizeof loss);
    metrics.add_loss(loss, valid);
    metrics.add(read_logits(plan), std::span(batch.labels).first(static_cast<std::size_t>(valid)));
    if (options.progress) options.progress(std::min(total, (b + 1) * at_once), total);
  }
  if (options.add_up) {
    std::array<double, 7> sums = metrics.sums();
    options.add_up(sums);
    metrics.set_sums(sums);
  }
  EvalResult result;
  result.samples = metrics.samples();
  result.loss = metrics.mean_loss();
  result.top1 = metrics.top1();
  result.top5 = metrics.top5();
  result.f1 = metrics.classes() == 2 ? metrics.f1() : 0.0;
  result.seconds = watch.seconds() - (plans.compile_seconds() - compiled_before);
  return result;
}

}  // namespace ptrain
