#include "core/infer/inference.h"

#include "core/base/clock.h"
#include "core/base/signals.h"
#include "core/data/loader/for_each_batch.h"
#include "core/report/keep_top_errors.h"

namespace ptrain {

void TopErrorRecord::describe(Fields& field) {
  field("input", input, "");
  field("truth", label, "class or value");
  field("answer", answer, "class or value");
  field("probability", probability, "of the answer; null of values");
  field("of_truth", of_truth, "probability of the truth; null of values");
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
  field("mistakes", mistakes, "the surest of them first, of values the farthest off");
}

namespace {

/// Counts right and wrong answers.
class Tally {
 public:
  Tally(const Task& task, const DatasetInfo& data) : metrics_(task.make_metrics(data.classes, data.class_names)) {}

  void add(const Batch& batch, const Batch& scores) {
    if (metrics_->reads_outputs()) metrics_->add_batch(batch, std::nullopt, scores);
  }

  void add(const std::string& input, const Prediction& one) {
    if (!one.is_wrong()) return;
    mistakes_.push_back({input, format_answer(one.label), format_answer(one.answer), one.probability,
                         one.label_probability, one.error});
    if (mistakes_.size() >= 2 * most_mistakes) keep_top_errors(mistakes_, &TopErrorRecord::error);
  }

  void fill(InferenceReport& report) {
    if (metrics_->samples() == 0) return;
    report.evaluation = metrics_->evaluation();
    if (std::optional<ClassificationReport> found = metrics_->details()) {
      report.classes = std::move(found->classes);
      report.confusion = std::move(found->confusion);
    }
    keep_top_errors(mistakes_, &TopErrorRecord::error);
    report.mistakes = std::move(mistakes_);
  }

 private:
  std::unique_ptr<Metrics> metrics_;
  std::vector<TopErrorRecord> mistakes_;
};

}  // namespace

LoaderOptions every_input_once(const DeployedModel& model, const InferenceDataset& inputs, int workers) {
  LoaderOptions options;
  options.batch_size = model.batch_size();
  options.workers = workers;
  options.order = SampleOrder::sequential;
  options.remainder = Remainder::keep;
  options.max_bad_samples = inputs.size();
  options.epochs = 1;
  return options;
}

InferenceReport run_inference(DeployedModel& model, const InferenceDataset& inputs, const InferenceOptions& options,
                              const std::function<void(const std::string&, const Prediction&)>& answered,
                              const std::function<void(std::int64_t)>& progress) {
  const InterruptibleWork interruptible;
  InferenceReport report;
  report.class_names = inputs.info().class_names;
  report.batch_size = model.batch_size();
  Tally tally(model.task(), inputs.info());
  Loader loader(inputs, every_input_once(model, inputs, options.workers));
  std::vector<double> batch_ms;
  const auto answer = [&](const Batch& batch) {
    const Stopwatch computing;
    const Batch scores = model.run(batch);
    batch_ms.push_back(computing.seconds() * 1e3);
    for (std::int64_t row = 0; row < batch.count; ++row) {
      require_finite(scores, row, inputs.name(index_of_row(batch, row)));
    }
    for (const Prediction& one : model.task().predictions(batch, scores, options.form)) {
      answered(inputs.name(one.index), one);
      tally.add(inputs.name(one.index), one);
    }
    tally.add(batch, scores);
    report.inputs += batch.count;
  };
  const Stopwatch watch;
  for_each_batch(loader, inputs.size(), model.batch_size(), [&](const Batch& batch, std::int64_t done) {
    InterruptibleWork::check(fmt::format("after {} of {} inputs", report.inputs, inputs.size()));
    if (batch.count > 0) answer(batch);
    progress(done);
    return true;
  });
  report.seconds = watch.seconds();
  report.inputs_per_second = report.seconds > 0 ? static_cast<double>(report.inputs) / report.seconds : 0;
  report.compile_seconds = model.compile_seconds();
  report.batch_ms = summarize(batch_ms);
  for (const auto& [index, problem] : inputs.unread()) report.unread.push_back(problem);
  tally.fill(report);
  return report;
}

}  // namespace ptrain
