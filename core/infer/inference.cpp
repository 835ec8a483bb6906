#include "core/infer/inference.h"

#include "core/base/clock.h"
#include "core/base/signals.h"
#include "core/data/loader/for_each_batch.h"
#include "core/report/keep_top_errors.h"

namespace ptrain {

void TopErrorRecord::describe(Fields& field) {
  field("input", input, "");
  field("truth", label, "label: class or value");
  field("answer", answer, "prediction: class or value");
  field("probability", probability, "probability of the prediction; null for values");
  field("of_truth", of_truth, "probability of the label; null for values");
}

void InferenceReport::describe(Fields& field) {
  field.document("ptrain.infer/2", "Predictions of a trained model.");
  field("model", model, "folder of the model");
  field("device", device, "backend");
  field("precision", precision, "AMP level");
  field("batch_size", batch_size, "");
  field("inputs", inputs, "number of inputs predicted");
  field("unread", unread, "unreadable inputs, one line each");
  field("seconds", seconds, "time including reading, without loading the model");
  field("inputs_per_second", inputs_per_second, "inputs over seconds");
  field("compile_seconds", compile_seconds, "time to choose and compile kernels");
  field("batch_ms", batch_ms, "time to compute one batch");
  field("evaluation", evaluation, "over the inputs with a label; null: none have one");
  field("class_names", class_names, "");
  field("classes", classes, "metrics of each class; empty: no labels");
  field("confusion", confusion, "nonzero cells of the confusion matrix, row by row");
  field("mistakes", mistakes, "most confident errors first, or largest errors of values");
}

namespace {

/// Counts correct and wrong predictions.
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
    if (mistakes_.size() >= 2 * most_top_errors) keep_top_errors(mistakes_, &TopErrorRecord::error);
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
  if (inputs.has_own_sizes()) {
    invariant(options.batch_size == 1, "images of different sizes are in one batch");
    options.choose_size = [&inputs](std::int64_t index) { return inputs.choose_size(index); };
  }
  return options;
}

InferenceReport run_inference(DeployedModel& model, const InferenceDataset& inputs, const InferenceOptions& options,
                              const std::function<void(const std::string&, const Prediction&)>& on_prediction,
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
      on_prediction(inputs.name(one.index), one);
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
