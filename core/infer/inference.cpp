#include "core/infer/inference.h"

#include "core/base/clock.h"
#include "core/base/signals.h"
#include "core/data/loader/loader.h"
#include "core/report/keep_worst.h"
#include "core/tasks/classification/classification_metrics.h"
#include "core/tasks/regression/regression_metrics.h"

#include <algorithm>
#include <cmath>

namespace ptrain {

void MistakeRecord::describe(Fields& field) {
  field("input", input, "");
  field("truth", truth, "class");
  field("answer", answer, "class");
  field("probability", probability, "of the answer");
  field("of_truth", of_truth, "probability of the truth");
}

void InferenceReport::describe(Fields& field) {
  field.document("ptrain.infer/2", "What a trained model answered.");
  field("model", model, "its folder");
  field("device", device, "backend");
  field("precision", precision, "AMP level");
  field("batch_size", batch_size, "");
  field("inputs", inputs, "that were answered");
  field("unread", unread, "inputs that could not be read, a line each");
  field("seconds", seconds, "reading included, loading the model left out");
  field("inputs_per_second", inputs_per_second, "inputs over seconds");
  field("compile_seconds", compile_seconds, "choosing and compiling kernels");
  field("batch_ms", batch_ms, "computing one batch");
  field("evaluation", evaluation, "of the inputs whose truth is known; null where none is");
  field("class_names", class_names, "");
  field("classes", classes, "how each was answered; empty where no truth is known");
  field("confusion", confusion, "the confusion matrix's cells that are not 0, row by row");
  field("mistakes", mistakes, "the surest of them first");
}

namespace {

/// Counts right and wrong answers.
class Tally {
 public:
  explicit Tally(const std::vector<std::string>& names)
      : names_(names), metrics_(static_cast<std::int64_t>(names.size()), names) {}

  void add(const std::string& input, std::int32_t truth, std::span<const float> probabilities) {
    metrics_.add(probabilities, {&truth, 1});
    const RankedClass best = rank_classes(probabilities, 1).front();
    if (best.index == truth) return;
    mistakes_.push_back({input, name(truth), name(best.index), static_cast<double>(best.probability),
                         static_cast<double>(probabilities[static_cast<std::size_t>(truth)])});
    if (mistakes_.size() >= 2 * most_mistakes) keep_worst(mistakes_, &MistakeRecord::probability);
  }

  void fill(InferenceReport& report) {
    if (metrics_.samples() == 0) return;
    report.evaluation = metrics_.evaluation();
    ClassificationReport found = metrics_.report();
    report.classes = std::move(found.classes);
    report.confusion = std::move(found.confusion);
    keep_worst(mistakes_, &MistakeRecord::probability);
    report.mistakes = std::move(mistakes_);
  }

 private:
  const std::string& name(std::int32_t index) const { return names_[static_cast<std::size_t>(index)]; }

  const std::vector<std::string>& names_;
  ClassificationMetrics metrics_;
  std::vector<MistakeRecord> mistakes_;
};

}  // namespace

LoaderOptions every_input_once(const DeployedModel& model, const InputSet& inputs, int workers) {
  LoaderOptions options;
  options.batch_size = model.batch_size();
  options.workers = workers;
  options.order = SampleOrder::sequential;
  options.remainder = Remainder::keep;
  options.max_bad_samples = inputs.size();
  options.epochs = 1;
  return options;
}

InferenceReport run_inference(DeployedModel& model, const InputSet& inputs, const InferenceOptions& options,
                              const std::function<void(const Answer&)>& answered,
                              const std::function<void(std::int64_t)>& progress) {
  const InterruptibleWork interruptible;
  InferenceReport report;
  report.class_names = inputs.info().class_names;
  report.batch_size = model.batch_size();
  Tally tally(report.class_names);
  RegressionMetrics values;
  Loader loader(inputs, every_input_once(model, inputs, options.workers));
  std::vector<double> batch_ms;
  const auto classes = static_cast<std::size_t>(model.classes());
  const Stopwatch watch;
  for (std::int64_t done = 0; done < inputs.size(); done += model.batch_size()) {
    InterruptibleWork::check(fmt::format("after {} of {} inputs", done, inputs.size()));
    const Batch& batch = loader.next();
    if (batch.count > 0) {
      const Stopwatch computing;
      const std::vector<float> logits = model.run(batch);
      batch_ms.push_back(computing.seconds() * 1e3);
      for (std::int64_t row = 0; row < batch.count; ++row) {
        const std::int64_t index = batch.sample_indices[static_cast<std::size_t>(row)];
        const auto scores = std::span(logits).subspan(static_cast<std::size_t>(row) * classes, classes);
        require_finite(scores, inputs.name(index));
        if (inputs.info().head == Head::regression) {
          const float truth = inputs.value(index);
          const bool known = !std::isnan(truth);
          answered({inputs.name(index), {}, no_truth, scores[0], known ? std::optional(truth) : std::nullopt});
          if (known) values.add(scores, {&truth, 1});
          continue;
        }
        const std::vector<float> probabilities = softmax(scores);
        const std::int32_t truth = inputs.truth(index);
        answered({inputs.name(index), rank_classes(probabilities, options.top), truth});
        if (truth != no_truth) tally.add(inputs.name(index), truth, probabilities);
      }
      report.inputs += batch.count;
    }
    progress(std::min(done + model.batch_size(), inputs.size()));
  }
  report.seconds = watch.seconds();
  report.inputs_per_second = report.seconds > 0 ? static_cast<double>(report.inputs) / report.seconds : 0;
  report.compile_seconds = model.compile_seconds();
  report.batch_ms = summarize(batch_ms);
  for (const auto& [index, problem] : inputs.unread()) report.unread.push_back(problem);
  tally.fill(report);
  if (values.samples() > 0) report.evaluation = values.evaluation();
  return report;
}

}  // namespace ptrain
