// ptrain infer: predicts for inputs with a trained model, or generates text.
#include "cli/choice_option.h"
#include "cli/commands.h"
#include "cli/deploy_arguments.h"
#include "cli/number_range.h"
#include "core/base/clock.h"
#include "core/base/errors.h"
#include "core/base/standard_streams.h"
#include "core/data/image/image_transform.h"
#include "core/infer/box_pictures.h"
#include "core/infer/coco_results.h"
#include "core/infer/generation.h"
#include "core/infer/inference.h"
#include "core/infer/label_maps.h"
#include "core/infer/prediction_format.h"
#include "core/infer/text_reader.h"
#include "core/infer/translation.h"
#include "core/io/free_output.h"
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
  std::string masks, boxes, coco_results, recognizer;
  std::optional<int> longest_side;  // px
  std::string progress = "auto";
  GenerationOptions generation;
  SearchOptions search{.beams = default_beams};
  std::string cache_dtype = "auto";
};

/// "accuracy: 0.9000 top-1 of 120 inputs with a known class (majority class 0.6000)"
std::string format_quality(const Evaluation& evaluation) {
  if (evaluation.primary()->kind != MetricKind::fraction) {
    return evaluation.text() + evaluation.text_of_others(MetricView::brief) + ", of the inputs with a known value";
  }
  std::string parts, references;
  for (const MetricValue& metric : evaluation.metrics) {
    if (metric.kind == MetricKind::reference) references += fmt::format(" ({})", metric.text());
    if (metric.kind != MetricKind::fraction) continue;
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", metric.value_text(metric.value), metric.title);
  }
  return fmt::format("accuracy: {} of {} inputs with a known class{}", parts, evaluation.eval_samples, references);
}

void print_summary(const InferenceReport& report) {
  if (report.inputs == 0) return;
  print_error_line(fmt::format("{} inputs in {:.2f} s: {:.1f}/s; a batch of {} took {:.2f} ms (p50), {:.2f} ms (p99)",
                               report.inputs, report.seconds, report.inputs_per_second, report.batch_size,
                               report.batch_ms.p50, report.batch_ms.p99));
  if (report.evaluation && report.evaluation->primary() != nullptr)
    print_error_line(format_quality(*report.evaluation));
}

/// Reads the texts in the boxes that `one` has.
std::string read_texts(TextReader& reader, const InferenceDataset& inputs, const std::string& image,
                       const Prediction& one, PredictionFormat format) {
  Scratch scratch;
  return reading_lines(format, image, reader.read(read_image(image, scratch, inputs.info().orientation), one.texts));
}

InferenceReport answer(DeployedModel& ready, TextReader* reader, const InferenceDataset& inputs,
                       const InferArguments& arguments, PredictionFormat format) {
  const std::unique_ptr<Progress> progress = make_progress(progress_style_from_name(arguments.progress), 10'000);
  const InferenceOptions options{.form = {arguments.top, inputs.info().class_names, !arguments.masks.empty()}};
  std::optional<LabelMapFolder> masks;
  if (options.form.label_maps) masks.emplace(arguments.masks, inputs.info());
  std::optional<BoxPictureFolder> pictures;
  if (!arguments.boxes.empty()) pictures.emplace(arguments.boxes, inputs.info());
  std::optional<CocoResults> results;
  if (!arguments.coco_results.empty()) results.emplace(arguments.coco_results, inputs.info());
  fmt::print("{}", reader ? reading_header(format) : format_header(format, ready.task().columns(options.form)));
  const Stopwatch watch;
  InferenceReport report = run_inference(
      ready, inputs, options,
      [&](const std::string& input, const Prediction& one) {
        fmt::print("{}",
                   reader ? read_texts(*reader, inputs, input, one, format) : format_prediction(format, input, one));
        if (one.label_map) masks->write(input, *one.label_map);
        if (pictures) pictures->write(input, one.objects);
        if (results) results->add(inputs.origin(one.index).id.value_or(one.index + 1), one.objects);
      },
      [&](std::int64_t done) {
        progress->show(done, inputs.size(), [&](double eta_seconds) {
          return fmt::format("{}/{} inputs  {:.1f}/s{}", done, inputs.size(),
                             static_cast<double>(done) / watch.seconds(),
                             eta_seconds > 0 ? "  ETA " + clock_text(eta_seconds) : "");
        });
      });
  progress->finish();
  if (results) results->commit();
  return report;
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) print_error_line("note: " + note);
}

/// Batches no larger than the number of inputs, and no kernel search, which would take longer than most of them.
DeployOptions make_deploy_options(std::int64_t inputs, const LoadedModel& opened, Backend& backend,
                                  const InferArguments& arguments) {
  DeployOptions options = arguments.deploy.deploy_options(opened, backend);
  options.batch_size = std::min(options.batch_size, inputs);
  options.kernels.exhaustive_search = false;
  return options;
}

/// Generates text for every prompt of the command line, of .txt files and of standard input.
void generate_texts(const LoadedModel& opened, const InferArguments& arguments, PredictionFormat format) {
  if (!arguments.report.empty()) fail_usage("--report: needs classes; {} is a language model", arguments.deploy.model);
  std::vector<std::string> notes;
  const std::vector<std::string> prompts = read_prompts(arguments.inputs, notes);
  print_notes(notes);
  const std::unique_ptr<Backend> backend = arguments.deploy.make_backend();
  DeployOptions options = make_deploy_options(std::ssize(prompts), opened, *backend, arguments);
  options.cache = CacheOptions{.dtype = cache_dtype(options.amp, arguments.cache_dtype)};
  TextGenerator generator(opened, *backend, options, prompts, arguments.generation);
  fmt::print("{}", generation_header(format));
  std::int64_t tokens = 0, full = 0;
  const Stopwatch watch;
  generator.run([&](const Generation& one) {
    tokens += one.tokens;
    full += one.is_full ? 1 : 0;
    fmt::print("{}", generation_line(format, one));
    std::fflush(stdout);
  });
  print_error_line(fmt::format("{} tokens in {:.2f} s: {:.1f}/s", tokens, watch.seconds(),
                               static_cast<double>(tokens) / watch.seconds()));
  if (full == 0) return;
  const std::string limit = opened.trained.gguf.empty()
                                ? fmt::format(
                                      "data.max_length of its training; model.max_positions, here {}, does not "
                                      "raise that",
                                      opened.trained.config.model.max_positions)
                                : "--max-length";
  print_error_line(fmt::format(
      "note: {} of {} texts end before --tokens {}: the model reads at most {} tokens, the prompt's included ({})",
      full, prompts.size(), arguments.generation.tokens, opened.trained.data.max_length, limit));
}

/// Translates the texts of the command line, of files and of standard input.
void translate(const LoadedModel& opened, const InferArguments& arguments, PredictionFormat format) {
  if (!arguments.report.empty()) fail_usage("--report: needs classes; {} translates", arguments.deploy.model);
  std::vector<std::string> notes;
  const std::vector<std::string> texts = read_sources(arguments.inputs, notes);
  print_notes(notes);
  const std::unique_ptr<Backend> backend = arguments.deploy.make_backend();
  DeployOptions options = make_deploy_options(std::ssize(texts), opened, *backend, arguments);
  options.cache = CacheOptions{.dtype = cache_dtype(options.amp, arguments.cache_dtype)};
  fmt::print("{}", translation_header(format));
  std::int64_t tokens = 0;
  const double seconds =
      translate_texts(opened, *backend, options, arguments.search, texts, [&](const TranslatedText& one) {
        tokens += one.tokens;
        fmt::print("{}", translation_line(format, one));
        std::fflush(stdout);
      });
  print_error_line(fmt::format("{} texts in {:.2f} s: {:.1f}/s, {:.1f} tokens/s", texts.size(), seconds,
                               static_cast<double>(texts.size()) / seconds, static_cast<double>(tokens) / seconds));
}

/// What reads the boxes around texts that a detector finds.
struct Recognizer {
  LoadedModel opened;
  TextReader reader;

  Recognizer(LoadedModel model, Backend& backend, const DeployOptions& options)
      : opened(std::move(model)), reader(opened, backend, options) {}
};

std::unique_ptr<Recognizer> make_recognizer(const InferArguments& arguments, Backend& backend) {
  if (arguments.recognizer.empty()) return nullptr;
  LoadedModel opened = open_model(arguments.recognizer);
  if (!opened.task->predicts_texts()) {
    fail_usage("--recognizer: expected a model that reads lines of text; {} is a model of {}", arguments.recognizer,
               opened.task->name());
  }
  const DeployOptions options = make_deploy_options(arguments.deploy.batch, opened, backend, arguments);
  return std::make_unique<Recognizer>(std::move(opened), backend, options);
}

/// Rejects outputs that the model's task does not have, and those that would overwrite what is read.
void check_outputs(const InferArguments& arguments, const LoadedModel& opened) {
  std::vector<std::filesystem::path> read{opened.trained.folder, arguments.deploy.model};
  read.insert(read.end(), arguments.inputs.begin(), arguments.inputs.end());
  require_free_output("--report", arguments.report, read, "ptrain.infer", FolderInputs::are_inputs);
  require_free_output("--coco-results", arguments.coco_results, read, "", FolderInputs::are_inputs);
  require_free_pictures("--masks", arguments.masks, read);
  require_free_pictures("--boxes", arguments.boxes, read);
  const auto require_task = [&](const char* option, const std::string& value, bool fits, const char* what) {
    if (value.empty() || fits) return;
    fail_usage("{}: needs {}; {} is a model of {}", option, what, arguments.deploy.model, opened.task->name());
  };
  require_task("--recognizer", arguments.recognizer, opened.task->predicts_text_boxes(), "boxes around text");
  require_task("--longest-side", arguments.longest_side ? "given" : "", opened.task->predicts_text_boxes(),
               "boxes around text");
  require_task("--masks", arguments.masks, opened.task->predicts_label_maps(), "a class for each pixel");
  require_task("--boxes", arguments.boxes, opened.task->predicts_objects(), "boxes around objects");
  require_task("--coco-results", arguments.coco_results, opened.task->predicts_objects(), "boxes around objects");
}

/// As requested, else as the model's folder has it.
int choose_longest_side(const LoadedModel& opened, const InferArguments& arguments) {
  if (arguments.longest_side) return *arguments.longest_side;
  const std::optional<ImageInput>& image = opened.trained.document.image;
  return image ? static_cast<int>(image->longest_side.value_or(0)) : 0;
}

void infer(const InferArguments& arguments) {
  const auto format = parse_choice<PredictionFormat>("--format", arguments.format);
  const LoadedModel opened = arguments.deploy.open();
  check_outputs(arguments, opened);
  if (opened.task->translates()) return translate(opened, arguments, format);
  if (!opened.task->predicts_samples()) return generate_texts(opened, arguments, format);
  InferenceDataOptions data_options = arguments.options;
  data_options.longest_side = choose_longest_side(opened, arguments);
  const std::unique_ptr<InferenceDataset> inputs = open_inputs(opened.trained, arguments.inputs, data_options);
  print_notes(inputs->notes());
  const std::unique_ptr<Backend> backend = arguments.deploy.make_backend();
  DeployOptions options = make_deploy_options(inputs->size(), opened, *backend, arguments);
  if (inputs->has_own_sizes()) {
    options.batch_size = 1;
    options.image_size = inputs->info().image_size;
  }
  DeployedModel ready(*backend, *opened.model, *opened.task, opened.trained.weights(), options);
  const std::unique_ptr<Recognizer> recognizer = make_recognizer(arguments, *backend);
  InferenceReport report = answer(ready, recognizer ? &recognizer->reader : nullptr, *inputs, arguments, format);
  report.model = opened.trained.folder.string();
  report.device = backend->name();
  report.precision = arguments.deploy.amp;
  print_summary(report);
  if (!arguments.report.empty()) write_document(report, arguments.report);
  if (report.unread.empty()) return;
  for (const std::string& problem : report.unread) print_error_line("note: " + problem);
  fail("{} of {} inputs could not be read; the first: {}", report.unread.size(), inputs->size(), report.unread.front());
}

void add_generation_options(CLI::App& command, InferArguments& arguments) {
  const char* group = "Text generation";
  GenerationOptions& options = arguments.generation;
  SamplingOptions& sampling = options.sampling;
  command.add_option("--tokens", options.tokens, "largest number of new tokens per prompt")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))
      ->capture_default_str()
      ->group(group);
  command.add_option("--top-k", sampling.top_k, "number of most likely tokens to sample from; 0: all")
      ->capture_default_str()
      ->group(group);
  command.add_option("--top-p", sampling.top_p, "of the most likely tokens, as few as reach this probability together")
      ->check(in_range(1e-6, 1.0))
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--min-p", sampling.min_p, "only tokens with at least this share of the likeliest one's probability")
      ->check(in_range(0.0, 1.0))
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--repetition-penalty", sampling.repetition_penalty,
                  "divides the logits of tokens that the text has, and multiplies negative ones; 1: none")
      ->check(in_range(0.01, 100.0))
      ->capture_default_str()
      ->group(group);
  command.add_option("--temperature", sampling.temperature, "divisor of logits; 0: always the most likely token")
      ->check(in_range(0.0, 100.0))
      ->capture_default_str()
      ->group(group);
  command.add_option("--seed", sampling.seed, "seed of sampling")->capture_default_str()->group(group);
  command.add_option("--stop", options.stops, "text before which a text ends; may be repeated")
      ->check([](const std::string& text) { return text.empty() ? "expected a text, got an empty one" : ""; })
      ->type_name("TEXT")
      ->allow_extra_args(false)
      ->group(group);
  add_cache_option(command, arguments.cache_dtype)->group(group);
}

}  // namespace

void add_infer_command(CLI::App& program) {
  CLI::App* command =
      program.add_subcommand("infer", "predict for images, texts or tables with a trained model, or generate text");
  const auto arguments = std::make_shared<InferArguments>();
  arguments->deploy.add_to(*command);
  command
      ->add_option(
          "INPUT", arguments->inputs,
          "images and folders of them, or of idx files, CIFAR's binary ones, or COCO's and PASCAL VOC's boxes, whose "
          "evaluation samples are used; "
          "clips, folders of frames, and folders of them; tables (.tsv, .csv, .jsonl, .ndjson), .txt files and "
          "sentences, or "
          "prompts of a language model, or texts to translate and any file of them; files of Criteo's lines; - for "
          "standard input, one "
          "input per line")
      ->required();
  command->add_option("--top", arguments->top, "number of classes shown per input")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--format", arguments->format, "format of the predictions on standard output")
      ->capture_default_str()
      ->type_name("text|jsonl|csv");
  command->add_flag_callback(
      "--json", [arguments] { arguments->format = "jsonl"; }, "same as --format jsonl");
  add_column_options(*command, arguments->options);
  add_generation_options(*command, *arguments);
  add_search_options(*command, arguments->search, "Translation");
  command->add_option("--report", arguments->report, "metrics, confusion matrix and worst errors as JSON")
      ->type_name("FILE");
  command
      ->add_option(
          "--masks", arguments->masks,
          "segmentation: folder for each image's classes as NAME.png, whose values are class numbers, and over "
          "the image as NAME_overlay.png")
      ->type_name("FOLDER");
  command
      ->add_option(
          "--boxes", arguments->boxes,
          "detection: folder for each image as NAME.png with the boxes, and the masks if there are, of its objects "
          "drawn, those with a score of at least 0.5")
      ->type_name("FOLDER");
  command
      ->add_option(
          "--coco-results", arguments->coco_results,
          "detection: all boxes, and masks, as COCO's results file, for pycocotools; ids are those of the annotations, "
          "else images count from 1 and categories are class numbers")
      ->type_name("FILE");
  command
      ->add_option("--recognizer", arguments->recognizer,
                   "text detection: model of text recognition, which reads the text in each box")
      ->type_name("MODEL");
  command
      ->add_option(
          "--longest-side", arguments->longest_side,
          "text detection: images larger than the model's are read in their own size, with at most this many "
          "px at their longest side; 0: in the model's, as in evaluation; default: what the model's folder has")
      ->check(CLI::Range(0, static_cast<int>(ImageInput::most_longest_side)))
      ->type_name("PX");
  command->add_option("--progress", arguments->progress, "how progress is shown on standard error")
      ->capture_default_str()
      ->type_name("auto|bar|plain|none");
  command->footer(
      "If folders have class names, or a table has labels, the accuracy is printed after the predictions.\n"
      "Example:\n  ptrain infer runs/resnet50 photo.jpg more_photos/ --top 3\n"
      "  echo 'a gripping film' | ptrain infer runs/bert_finetune - --format jsonl\n"
      "  ptrain infer runs/deeplab street.jpg --masks masks/\n"
      "  ptrain infer runs/retinanet data/coco --coco-results results.json --boxes pictures/\n"
      "  ptrain infer runs/dbnet photo.jpg --recognizer runs/ppocr_rec\n"
      "  ptrain infer runs/gpt2 'Once upon a time' --tokens 40 --top-k 20");
  command->callback([arguments] { infer(*arguments); });
}

}  // namespace ptrain
