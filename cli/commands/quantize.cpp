// ptrain quantize: converts a trained model to 8-bit integers where that is faster at little cost in accuracy.
#include "cli/choice_option.h"
#include "cli/commands.h"
#include "cli/deploy_arguments.h"
#include "cli/number_range.h"
#include "cli/output_format.h"
#include "core/base/counted.h"
#include "core/base/errors.h"
#include "core/base/standard_streams.h"
#include "core/cpu/cpu_backend.h"
#include "core/cpu/onednn/int8_work.h"
#include "core/data/tensor_names.h"
#include "core/deploy/quantization/quantizer.h"
#include "core/io/atomic_file.h"
#include "core/io/free_output.h"
#include "core/report/json_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace ptrain {
namespace {

struct QuantizeArguments {
  std::string model, out, report;
  std::vector<std::string> calibrate, evaluate;
  InferenceDataOptions inputs;
  std::int64_t samples = 512, batch = 32;
  std::string method = "auto", layers = "faster", amp = "O0";
  double max_drop = 0.3, max_logit_error = 0.1, speed_seconds = 0.5;
  bool json = false;
};

void show(const QuantizeReport& report) {
  std::map<std::string, std::int64_t> left;
  std::int64_t quantized = 0;
  for (const QuantizedLayer& layer : report.layers) {
    layer.left_because.empty() ? ++quantized : ++left[layer.left_because];
  }
  fmt::print("{} of {} in 8 bits, calibrated on {} by {}\n", quantized,
             counted(static_cast<std::int64_t>(report.layers.size()), "layer"),
             counted(report.calibration_samples, "sample"), report.method);
  for (const auto& [reason, count] : left) fmt::print("left in float: {} ({})\n", count, reason);
  for (const QuantizedLayer& layer : report.layers) {
    if (!layer.left_because.empty()) {
      fmt::print("  {}: {}, error {:.4f}, {:.3f} ms and {:.3f} ms in 8 bits\n", layer.name, layer.left_because,
                 layer.error, layer.real_ms, layer.int8_ms);
    }
  }
  if (report.accuracy) {
    const PairedAccuracy& accuracy = *report.accuracy;
    fmt::print("accuracy: {:.4f} before, {:.4f} after, of {}; {} lost and {} won (McNemar p = {:.3f})\n",
               accuracy.before, accuracy.after, counted(accuracy.samples, "sample"), accuracy.lost, accuracy.won,
               accuracy.p_value);
  }
  if (report.metric) {
    fmt::print("{}: {:.4f} before, {:.4f} after\n", report.metric->title, report.metric->before, report.metric->after);
  }
  fmt::print("logits: relative error {:.4f}, largest {:.4f}", report.logits.relative, report.logits.largest);
  if (report.logits.agreement) fmt::print("; the prediction is unchanged for {:.2f} %", 100 * *report.logits.agreement);
  fmt::print("\n");
  fmt::print("size: {} bytes before, {} after ({:.2f} times smaller)\n", report.bytes_before, report.bytes_after,
             static_cast<double>(report.bytes_before) / static_cast<double>(report.bytes_after));
  if (report.speed) {
    fmt::print("speed: {:.1f}/s before, {:.1f}/s after, {} at once: {:.2f} times as fast\n", report.speed->before,
               report.speed->after, report.speed->batch_size, report.speed->ratio);
  }
  for (const std::string& note : report.notes) fmt::print("note: {}\n", note);
  fmt::print("model: {}\n", report.out);
}

std::vector<std::string> make_notes(const InferenceDataset& calibration, const Task& task) {
  std::vector<std::string> notes;
  std::set<std::int32_t> labels;
  for (std::int64_t i = 0; i < calibration.size(); ++i) labels.insert(calibration.label(i));
  const std::vector<std::string> targets = task.targets();
  const bool have_classes = std::ranges::find(targets, tensor_names::labels) != targets.end();
  if (have_classes && labels.size() == 1 && !labels.contains(no_label)) {
    notes.push_back(fmt::format("all calibration samples have the same class, {}: scales may not fit others",
                                calibration.info().class_names[static_cast<std::size_t>(*labels.begin())]));
  }
  if (!cpu::has_int8_instructions()) {
    notes.push_back(fmt::format(
        "{} has no instructions for 8-bit products (VNNI): the model may not be faster here, and weights keep 7 bits",
        cpu::instruction_set()));
  }
  return notes;
}

std::int64_t read_size(const std::filesystem::path& file) {
  return static_cast<std::int64_t>(std::filesystem::file_size(file));
}

void quantize(const QuantizeArguments& arguments) {
  const QuantizeOptions options{parse_choice<CalibrationMethod>("--method", arguments.method),
                                parse_choice<LayerChoice>("--layers", arguments.layers), arguments.max_drop,
                                arguments.max_logit_error};
  const LoadedModel opened = open_model(arguments.model);
  require_answers(opened, "quantize");
  require_images_or_sentences(opened.trained, "quantize does not support");
  if (opened.trained.document.quantization) fail("{}: is quantized already", opened.trained.folder.string());
  const std::unique_ptr<Backend> backend = cpu::make_backend();
  std::vector<std::filesystem::path> read{opened.trained.folder, arguments.model};
  read.insert(read.end(), arguments.calibrate.begin(), arguments.calibrate.end());
  read.insert(read.end(), arguments.evaluate.begin(), arguments.evaluate.end());
  require_free_output("--report", arguments.report, read, "ptrain.quantize", FolderInputs::are_inputs);
  if (!arguments.report.empty()) require_outside_model("--report", arguments.report, arguments.out);
  const std::unique_ptr<InferenceDataset> all = open_inputs(opened.trained, arguments.calibrate, arguments.inputs);
  const std::unique_ptr<InferenceDataset> calibration = sample_evenly(*all, arguments.samples);
  const std::unique_ptr<InferenceDataset> others =
      arguments.evaluate.empty() ? nullptr : open_inputs(opened.trained, arguments.evaluate, arguments.inputs);
  DeployArguments deploy{arguments.model, "cpu", arguments.amp, std::min(arguments.batch, calibration->size())};
  DeployOptions deploy_options = deploy.deploy_options(opened, *backend);
  deploy_options.kernels.exhaustive_search = false;
  ModelFolderWriter writer = claim_model_folder(opened.trained, arguments.out);
  QuantizedModel quantized =
      quantize_model(*backend, opened, deploy_options, options, *calibration, others ? *others : *calibration,
                     [](const std::string& line) { print_error_line(line); });
  save_quantized(*quantized.model, writer.folder() / model_files::weights);
  copy_as_quantized(opened.trained, quantized.record, writer.folder());
  writer.put_in_place();

  QuantizeReport& report = quantized.report;
  report.model = opened.trained.folder.string();
  report.out = arguments.out;
  report.library = fmt::format("{}, {}", backend->library(), cpu::instruction_set());
  report.precision = arguments.amp;
  report.evaluated_on = others ? fmt::format("{}", fmt::join(arguments.evaluate, " ")) : "the calibration samples";
  report.bytes_before = read_size(opened.trained.weights().file);
  report.bytes_after = read_size(std::filesystem::path(arguments.out) / model_files::weights);
  report.notes = make_notes(*calibration, *opened.task);
  if (!report.accuracy && !report.metric) {
    report.notes.push_back(
        fmt::format("{} was not measured, since {} have no labels: --max-logit-error decided, not --max-drop",
                    opened.task->metrics(calibration->info().classes).front().title, report.evaluated_on));
  }
  report.notes.insert(report.notes.end(), all->notes().begin(), all->notes().end());
  if (arguments.speed_seconds > 0) {
    DeployedModel before(*backend, *opened.model, *opened.task, opened.trained.weights(), deploy_options);
    report.speed = compare_speed(before, *quantized.model, *calibration, arguments.speed_seconds);
  }
  if (!arguments.report.empty()) write_document(report, arguments.report);
  if (arguments.json) return print_document(report);
  show(report);
}

}  // namespace

void add_quantize_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("quantize", "write a trained model in 8-bit integers, for the CPU");
  const auto arguments = std::make_shared<QuantizeArguments>();
  command->add_option("MODEL", arguments->model, "folder of a run or of ptrain export, or the run's configuration")
      ->required();
  command->add_option("--calibrate", arguments->calibrate, "calibration samples, in the forms of ptrain infer's inputs")
      ->required()
      ->type_name("DATA");
  command->add_option("--out", arguments->out, "folder to write")->required()->type_name("DIR");
  command->add_option("--samples", arguments->samples, "number of samples of DATA to use, evenly spaced")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{10'000'000}))
      ->capture_default_str();
  command
      ->add_option("--evaluate", arguments->evaluate,
                   "samples to compare accuracy on; default: the calibration samples")
      ->type_name("DATA");
  add_column_options(*command, arguments->inputs);
  command->add_option("--method", arguments->method, "how scales are chosen; auto: per value, by the layers' error")
      ->capture_default_str()
      ->type_name("auto|minmax|percentile|mse");
  command
      ->add_option("--layers", arguments->layers, "layers to quantize: those faster in 8 bits on this machine, or all")
      ->capture_default_str()
      ->type_name("faster|all");
  command->add_option("--max-drop", arguments->max_drop, "largest accepted loss of accuracy, in points")
      ->check(in_range(0.0, 100.0))
      ->capture_default_str();
  command
      ->add_option("--max-logit-error", arguments->max_logit_error,
                   "largest accepted relative error of logits, without labels")
      ->check(in_range(0.0, 1e6))
      ->capture_default_str();
  command->add_option("--amp", arguments->amp, "precision of layers left in float")
      ->capture_default_str()
      ->type_name("O0|O1|O2");
  command->add_option("--batch", arguments->batch, "inputs computed at once, also while layers are timed")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{65536}))
      ->capture_default_str();
  command
      ->add_option("--speed-seconds", arguments->speed_seconds,
                   "seconds per round of the speed comparison; 0: no comparison")
      ->check(in_range(0.0, 600.0))
      ->capture_default_str();
  command->add_option("--report", arguments->report, "the report as JSON")->type_name("FILE");
  command->add_flag("--json", arguments->json, "print the report as JSON");
  command->footer(
      "Example:\n  ptrain quantize runs/resnet50 --calibrate photos/val --out model-int8\n"
      "  ptrain infer model-int8 photo.jpg");
  command->callback([arguments] { quantize(*arguments); });
}

}  // namespace ptrain
