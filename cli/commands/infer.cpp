// ptrain infer: what a trained model says about its inputs, or how it goes on with a text.
#include "cli/choice_option.h"
#include "cli/commands.h"
#include "cli/deploy_arguments.h"
#include "core/base/clock.h"
#include "core/base/errors.h"
#include "core/base/standard_streams.h"
#include "core/infer/generation.h"
#include "core/infer/inference.h"
#include "core/infer/prediction_format.h"
#include "core/report/json_file.h"
#include "core/report/progress.h"

#include <fmt/format.h>

#include <cstdio>

namespace ptrain {
namespace {

struct InferArguments {
  DeployArguments deploy;
  std::vector<std::string> inputs;
  InferenceDataOptions options;
  std::size_t top = 5;
  std::string format = "text";
  std::string report;
  std::string progress = "auto";
  GenerationOptions generation;
};

/// "accuracy: 0.9000 top-1 of 120 inputs whose class is known (majority class 0.6000)"
std::string quality_line(const Evaluation& evaluation) {
  if (evaluation.primary()->kind != MetricKind::fraction) {
    return evaluation.text() + evaluation.text_of_others(MetricView::brief) + ", of the inputs whose value is known";
  }
  std::string parts, references;
  for (const MetricValue& metric : evaluation.metrics) {
    if (metric.kind == MetricKind::reference) references += fmt::format(" ({})", metric.text());
    if (metric.kind != MetricKind::fraction) continue;
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", metric.value_text(metric.value), metric.title);
  }
  return fmt::format("accuracy: {} of {} inputs whose class is known{}", parts, evaluation.eval_samples, references);
}

void print_summary(const InferenceReport& report) {
  if (report.inputs == 0) return;
  print_error_line(fmt::format("{} inputs in {:.2f} s: {:.1f}/s; a batch of {} took {:.2f} ms (p50), {:.2f} ms (p99)",
                               report.inputs, report.seconds, report.inputs_per_second, report.batch_size,
                               report.batch_ms.p50, report.batch_ms.p99));
  if (report.evaluation && report.evaluation->primary() != nullptr) print_error_line(quality_line(*report.evaluation));
}

InferenceReport answer(DeployedModel& ready, const InferenceDataset& inputs, const InferArguments& arguments,
                       PredictionFormat format) {
  const std::unique_ptr<Progress> progress = make_progress(progress_style_from_name(arguments.progress), 10'000);
  const InferenceOptions options{.form = {arguments.top, inputs.info().class_names}};
  fmt::print("{}", format_header(format, ready.task().columns(options.form)));
  const Stopwatch watch;
  InferenceReport report = run_inference(
      ready, inputs, options,
      [&](const std::string& input, const Prediction& one) { fmt::print("{}", format_prediction(format, input, one)); },
      [&](std::int64_t done) {
        progress->show(done, inputs.size(), [&](double eta_seconds) {
          return fmt::format("{}/{} inputs  {:.1f}/s{}", done, inputs.size(),
                             static_cast<double>(done) / watch.seconds(),
                             eta_seconds > 0 ? "  ETA " + clock_text(eta_seconds) : "");
        });
      });
  progress->finish();
  return report;
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) print_error_line("note: " + note);
}

/// No larger batches than there are inputs, and no search, which would take longer than most of them.
DeployOptions options_for(std::int64_t inputs, const LoadedModel& opened, DType preferred,
                          const InferArguments& arguments) {
  DeployOptions options = arguments.deploy.deploy_options(opened, preferred);
  options.batch_size = std::min(options.batch_size, inputs);
  options.kernels.exhaustive_search = false;
  return options;
}

/// Goes on with every prompt of the command line, of .txt files and of standard input.
void go_on(const LoadedModel& opened, const InferArguments& arguments, PredictionFormat format) {
  if (!arguments.report.empty()) fail_usage("--report: is of classes; {} goes on with texts", arguments.deploy.model);
  std::vector<std::string> notes;
  const std::vector<std::string> prompts = read_prompts(arguments.inputs, notes);
  print_notes(notes);
  const std::unique_ptr<Backend> backend = arguments.deploy.make_backend();
  DeployOptions options = options_for(static_cast<std::int64_t>(prompts.size()), opened,
                                      backend->kernels().preferred_low_precision(), arguments);
  const auto longest =
      std::max_element(prompts.begin(), prompts.end(), [](auto& a, auto& b) { return a.size() < b.size(); });
  // A token is a byte at least.
  options.max_length =
      std::min(options.max_length, static_cast<std::int64_t>(longest->size()) + arguments.generation.tokens);
  TextGenerator generator(opened, *backend, options);
  fmt::print("{}", generation_header(format));
  std::int64_t tokens = 0;
  const Stopwatch watch;
  generator.run(prompts, arguments.generation, [&](const Generation& one) {
    tokens += one.tokens;
    fmt::print("{}", generation_line(format, one));
    std::fflush(stdout);
  });
  print_error_line(fmt::format("{} tokens in {:.2f} s: {:.1f}/s", tokens, watch.seconds(),
                               static_cast<double>(tokens) / watch.seconds()));
}

void infer(const InferArguments& arguments) {
  const auto format = parse_choice<PredictionFormat>("--format", arguments.format);
  const LoadedModel opened = open_model(arguments.deploy.model);
  if (!opened.task->predicts_samples()) return go_on(opened, arguments, format);
  const std::unique_ptr<InferenceDataset> inputs = open_inputs(opened.trained, arguments.inputs, arguments.options);
  print_notes(inputs->notes());
  const std::unique_ptr<Backend> backend = arguments.deploy.make_backend();
  DeployedModel ready(*backend, *opened.model, *opened.task, opened.trained.weights(),
                      options_for(inputs->size(), opened, backend->kernels().preferred_low_precision(), arguments));
  InferenceReport report = answer(ready, *inputs, arguments, format);
  report.model = opened.trained.folder.string();
  report.device = backend->name();
  report.precision = arguments.deploy.amp;
  print_summary(report);
  if (!arguments.report.empty()) write_document(report, arguments.report);
  if (report.unread.empty()) return;
  for (const std::string& problem : report.unread) print_error_line("note: " + problem);
  fail("{} of {} inputs could not be read; the first: {}", report.unread.size(), inputs->size(), report.unread.front());
}

void add_generation_options(CLI::App& command, GenerationOptions& options) {
  const char* group = "Running text, which is gone on with";
  command.add_option("--tokens", options.tokens, "the most that are added to a prompt")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))
      ->capture_default_str()
      ->group(group);
  command.add_option("--top-k", options.top_k, "likeliest tokens that the next one is drawn from; 0: all")
      ->capture_default_str()
      ->group(group);
  command.add_option("--temperature", options.temperature, "what logits are divided by; 0: the likeliest token always")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str()
      ->group(group);
  command.add_option("--seed", options.seed, "of what is drawn")->capture_default_str()->group(group);
}

}  // namespace

void add_infer_command(CLI::App& program) {
  CLI::App* command =
      program.add_subcommand("infer", "ask a trained model about images, texts or tables, or let it go on with a text");
  const auto arguments = std::make_shared<InferArguments>();
  arguments->deploy.add_to(*command);
  command
      ->add_option(
          "INPUT", arguments->inputs,
          "images and folders of them, or of idx files or CIFAR's binary ones, whose evaluation samples are asked; "
          "clips, folders of frames, and folders of them; tables (.tsv, .csv, .jsonl), .txt files and sentences, or "
          "prompts of a model of running text; files of Criteo's lines; - for standard input, one of them per line")
      ->required();
  command->add_option("--top", arguments->top, "classes shown of each input")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--format", arguments->format, "of the answers on standard output")
      ->capture_default_str()
      ->type_name("text|jsonl|csv");
  command->add_flag_callback(
      "--json", [arguments] { arguments->format = "jsonl"; }, "as --format jsonl");
  add_column_options(*command, arguments->options);
  add_generation_options(*command, arguments->generation);
  command->add_option("--report", arguments->report, "figures, confusion matrix and worst mistakes as JSON")
      ->type_name("FILE");
  command->add_option("--progress", arguments->progress, "how progress is shown on standard error")
      ->capture_default_str()
      ->type_name("auto|bar|plain|none");
  command->footer(
      "Where a folder bears a class's name, or a table has labels, the accuracy follows the answers.\n"
      "Example:\n  ptrain infer runs/resnet50 photo.jpg more_photos/ --top 3\n"
      "  echo 'a gripping film' | ptrain infer runs/bert_finetune - --format jsonl\n"
      "  ptrain infer runs/gpt2 'Once upon a time' --tokens 40 --top-k 20");
  command->callback([arguments] { infer(*arguments); });
}

}  // namespace ptrain
