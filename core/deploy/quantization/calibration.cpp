#include "core/deploy/quantization/calibration.h"

#include "core/base/errors.h"
#include "core/base/hash.h"
#include "core/base/parallel.h"
#include "core/base/signals.h"
#include "core/data/loader/for_each_batch.h"

namespace ptrain {
namespace {

/// The elements of a value that belong to samples rather than padding of the batch.
std::span<const float> get_valid_part(const Plan& plan, const std::string& name, const Batch& batch,
                                      std::int64_t rows) {
  const TensorDesc& desc = plan.graph().desc(plan.graph().find_output(name));
  const std::span<const float> all(static_cast<const float*>(plan.output(name)),
                                   static_cast<std::size_t>(desc.count()));
  if (desc.shape.rank() == 0 || desc.shape[0] != rows) return all;
  return all.first(all.size() / static_cast<std::size_t>(rows) * static_cast<std::size_t>(batch.count));
}

/// Extends a hash by the model's inputs.
std::uint64_t hash_on(std::uint64_t before, const Plan& plan, const Batch& batch) {
  for (const auto& [spec, tensor] : batch.entries()) {
    if (!plan.has_input(spec.name)) continue;
    const std::string_view bytes(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size());
    before = fnv1a64(fmt::format("{:016x}{:016x}", before, fnv1a64(bytes)));
  }
  return before;
}

/// Updates the distributions of all values, one thread each; returns the name of a value that is not finite, or "".
std::string add_batch(const Plan& plan, const Batch& batch, std::int64_t rows,
                      std::vector<std::pair<const std::string, Distribution>*>& values) {
  std::vector<char> finite(values.size(), 1);
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < values.size(); ++i) {
    finite[i] = values[i]->second.add(get_valid_part(plan, values[i]->first, batch, rows)) ? 1 : 0;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (finite[i] == 0) return values[i]->first;
  }
  return {};
}

}  // namespace

Answers predict_all(DeployedModel& model, const InferenceDataset& inputs, int workers,
                    const std::function<void(const Batch&)>& seen) {
  const InterruptibleWork interruptible;
  LoaderOptions options = every_input_once(model, inputs, workers);
  options.max_bad_samples = 0;
  Loader loader(inputs, options);
  const PredictionOptions form{.class_names = inputs.info().class_names};
  Answers answers;
  const Task& task = model.task();
  std::unique_ptr<Metrics> metrics;
  if (task.predicts_objects() || task.predicts_label_maps()) {
    metrics = task.make_metrics(inputs.info().classes, inputs.info().class_names);
  }
  for_each_batch(loader, inputs.size(), model.batch_size(), [&](const Batch& batch, std::int64_t done) {
    InterruptibleWork::check(fmt::format("after {} of {} inputs", done, inputs.size()));
    const Batch scores = model.run(batch);
    for (std::int64_t row = 0; row < batch.count; ++row) {
      require_finite(scores, row, inputs.name(index_of_row(batch, row)));
      const auto numbers = scores.entries().front().tensor.row<float>(row);
      answers.scores.insert(answers.scores.end(), numbers.begin(), numbers.end());
    }
    if (metrics) metrics->add_batch(batch, std::nullopt, scores);
    for (Prediction& one : task.predictions(batch, scores, form)) answers.predictions.push_back(std::move(one));
    if (seen) seen(batch);
    return true;
  });
  if (metrics && metrics->samples() > 0 && metrics->values().front().value) answers.metric = metrics->values().front();
  return answers;
}

Calibration calibrate(DeployedModel& precise, const std::set<std::string>& names, const InferenceDataset& inputs,
                      int workers) {
  Calibration calibration;
  for (const std::string& name : names) calibration.values[name];
  std::vector<std::pair<const std::string, Distribution>*> values;
  for (auto& entry : calibration.values) values.push_back(&entry);
  std::uint64_t hash = 0;
  calibration.answers = predict_all(precise, inputs, workers, [&](const Batch& batch) {
    if (calibration.first.count == 0) calibration.first = batch;
    const std::string bad = add_batch(precise.last_plan(), batch, precise.batch_size(), values);
    if (!bad.empty()) {
      fail("{}: among inputs up to this one, values of {} are not finite and cannot be scaled",
           inputs.name(batch.sample_indices[static_cast<std::size_t>(batch.count - 1)]), bad);
    }
    hash = hash_on(hash, precise.last_plan(), batch);
  });
  calibration.hash = fmt::format("fnv1a64:{:016x}", hash);
  return calibration;
}

}  // namespace ptrain
