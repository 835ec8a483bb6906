// ptrain init: writes a configuration for the user's data.
#include "cli/commands.h"
#include "cli/program_catalogs.h"
#include "cli/shipped.h"
#include "core/base/counted.h"
#include "core/base/utf8.h"
#include "core/data/find_data.h"
#include "core/io/atomic_file.h"
#include "core/yaml/load.h"
#include "models/model_registry.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

struct InitOptions {
  std::string data;
  std::string out;
  ColumnNames columns;
};

/// Fewer samples than these are few, in several ways.
constexpr std::int64_t few_samples = 2000;

std::string choose_image_model(const SampleCounts& counts) {
  return find_default_model(DataKind::image, counts.image_size, counts.frames, counts.samples < few_samples);
}

/// Quotes a text for YAML.
std::string quote_yaml(const std::string& text) { return nlohmann::json(text).dump(); }

/// A batch size with at least eight steps per epoch.
std::int64_t choose_batch_size(std::int64_t samples, std::int64_t most) {
  return std::clamp<std::int64_t>(samples / 8, 2, most);
}

std::string format_data(const DataSettings& settings) {
  std::string text = fmt::format("data:\n  source: {}\n  path: {}\n", settings.source, quote_yaml(settings.path));
  if (!settings.train_file.empty()) text += fmt::format("  train_file: {}\n", quote_yaml(settings.train_file));
  if (!settings.dev_file.empty()) text += fmt::format("  dev_file: {}\n", quote_yaml(settings.dev_file));
  const ColumnNames& columns = settings.columns;
  if (columns.any()) text += "  columns:\n";
  if (!columns.first.empty()) text += fmt::format("    text: {}\n", quote_yaml(columns.first));
  if (!columns.second.empty()) text += fmt::format("    second: {}\n", quote_yaml(columns.second));
  if (!columns.label.empty()) text += fmt::format("    label: {}\n", quote_yaml(columns.label));
  if (settings.dev_fraction > 0)
    text += fmt::format("  split: {{dev: {}}}  # there are no separate evaluation samples\n", settings.dev_fraction);
  return text;
}

/// What training from random weights takes: at least ten epochs, and for few samples 400 steps, in 100 epochs at most.
std::int64_t choose_epochs(std::int64_t samples, std::int64_t batch_size) {
  constexpr std::int64_t least_steps = 400;
  const std::int64_t steps = std::max<std::int64_t>(1, samples / batch_size);
  return std::clamp<std::int64_t>((least_steps + steps - 1) / steps, 10, 100);
}

std::string format_image_config(const DataSettings& settings, const SampleCounts& counts) {
  const ImageSize size = counts.image_size;
  const std::int64_t most = (size.is_small() ? 64 : 32) / std::max(1, counts.frames);
  const std::int64_t batch_size = choose_batch_size(counts.samples, most);
  return fmt::format(
      "model: {{name: {}}}  # ptrain list models shows the choices\n"
      "amp: {{level: auto, dtype: auto}}\n{}"
      "  image_size: {}\n  batch_size: {}\n{}"
      "train:\n  epochs: {}\n"
      "  optimizer: {{name: adamw, lr: 1.0e-3, weight_decay: 0.05}}\n"
      "  schedule: {{name: cosine, warmup_ratio: 0.05}}\n",
      choose_image_model(counts), format_data(settings), size, batch_size,
      counts.samples < few_samples ? "  max_bad_share: 0.1  # one broken image of few may be more than the usual 0.01\n"
                                   : "",
      choose_epochs(counts.samples, batch_size));
}

std::string format_sentence_config(const DataSettings& settings, const SampleCounts& counts) {
  const std::string weights = "weights/all-minilm-l6-v2";
  return fmt::format(
      "# scripts/fetch_weights.sh gets these weights, for English; other languages need other weights and their "
      "vocabulary.\n"
      "model: {{name: {}, weights: {}/model.safetensors}}\n"
      "amp: {{level: auto, dtype: auto}}\n{}"
      "  vocab: {}/vocab.txt\n  max_length: 128\n  padding: none\n  batch_size: {}\n"
      "train:\n  epochs: 3\n"
      "  optimizer: {{name: adamw, lr: 5.0e-5, weight_decay: 0.01}}\n"
      "  schedule: {{name: linear, warmup_ratio: 0.1}}\n"
      "  clip_norm: 1.0\n",
      find_default_model(DataKind::text, 0), weights, format_data(settings), weights,
      choose_batch_size(counts.samples, 32));
}

void init(const InitOptions& options) {
  DataSettings settings = find_data(options.data, options.columns);
  if (catalogs().find_source(settings.source).provides_form(SampleForm::clip)) {
    settings.segments = static_cast<int>(Config{}.model.segments);
  }
  if (!is_utf8(options.data)) fail_usage("DATA: the path is no UTF-8, as a configuration has to be; rename it");
  fs::path data = fs::absolute(options.data).lexically_normal();
  if (!data.has_filename()) data = data.parent_path();
  const std::string name = data.has_filename() ? data.stem().string() : "data";
  const fs::path out = options.out.empty() ? fs::path(name + ".yaml") : fs::path(options.out);
  if (fs::exists(out)) fail_usage("{}: already exists; choose another file with --out", out.string());

  const SampleCounts counts = count_samples(settings);
  const std::string schema = shipped_file("configs/config.schema.json");
  std::string text;
  if (fs::exists(schema)) text += fmt::format("# yaml-language-server: $schema={}\n", fs::absolute(schema).string());
  text +=
      counts.image_size.is_given() ? format_image_config(settings, counts) : format_sentence_config(settings, counts);
  text += fmt::format("output: {{dir: {}, keep_best: primary}}\n", quote_yaml((fs::path("runs") / name).string()));
  parse_config(text, out.string(), catalogs());
  write_file_atomic(out, text);

  for (const std::string& note : counts.notes) fmt::print("note: {}\n", note);
  const bool has_photos = counts.image_size.is_given() && !counts.image_size.is_small() && counts.frames == 0;
  if (has_photos && counts.samples < few_samples) {
    fmt::print(
        "note: {} are few to learn from without pretrained weights. scripts/fetch_weights.sh {} fetches some into "
        "weights/; name the file in model.weights\n",
        counted(counts.samples, "image"), choose_image_model(counts));
  }
  fmt::print("{}: {} of {} classes\n", options.data, counted(counts.samples, "training sample"), counts.classes);
  fmt::print("{}: review it, then: ptrain run {}\n", out.string(), out.string());
}

}  // namespace

void add_init_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("init", "write a configuration for your data");
  auto options = std::make_shared<InitOptions>();
  command
      ->add_option("DATA", options->data,
                   "folder of images or of clips (train/<class>/), table of texts (.tsv, .csv, .jsonl, .ndjson), or a "
                   "folder with train.csv")
      ->required();
  command->add_option("--out", options->out, "file to write; default: DATA's name with .yaml")->type_name("FILE");
  command->add_option("--text", options->columns.first, "column of a table with the text");
  command->add_option("--second", options->columns.second, "column of a table with the second text");
  command->add_option("--label", options->columns.label, "column of a table with the class");
  command->footer("Example:\n  ptrain init photos/\n  ptrain init reviews.csv --text comment --label verdict");
  command->callback([options] { init(*options); });
}

}  // namespace ptrain
