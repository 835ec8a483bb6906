// ptrain list: what can be asked for.
#include "cli/commands.h"
#include "cli/model_list.h"
#include "cli/output_format.h"
#include "core/analysis/markdown.h"
#include "core/base/errors.h"
#include "core/config/keys.h"
#include "core/config/text.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace ptrain {
namespace {

struct SourceHelp {
  std::string_view name;
  std::string_view help;
};

void list_data() {
  constexpr SourceHelp source_helps[] = {
      {"idx", "MNIST's form, gz or plain: {train,t10k}-images-idx3-ubyte and -labels-idx1-ubyte in data.path"},
      {"image_folder",
       "JPEG and PNG in data.path/train/<class>/ and data.path/val/<class>/; data.split.dev without val"},
      {"clip_folder",
       "clips, for models that read them: frames (JPEG or PNG) in data.path/train/<class>/<clip>/ and val likewise, in "
       "the order of their names, model.segments of them at least; data.split.dev without val"},
      {"webdataset",
       "JPEG and PNG in tar shards, their classes in .cls, .json or .txt: data.path/{train,val}/*.tar, or names such "
       "as train-000.tar; data.split.dev without val"},
      {"tfrecord",
       "JPEG and PNG in TFRecord files of tf.train.Example (image/encoded, image/class/label), named likewise; "
       "data.first_label 1 where labels begin at 1"},
      {"packed", "data.path/train.pack and val.pack, which ptrain data pack makes of an image_folder"},
      {"cifar",
       "CIFAR-10's and CIFAR-100's binary form: data_batch_*.bin and test_batch.bin, or train.bin and test.bin"},
      {"tsv",
       "text classification in tables (TSV, CSV or JSON lines): data.train_file and data.dev_file in data.path, "
       "data.vocab; data.columns where they have names of their own"},
      {"text",
       "running text, cut into blocks of data.max_length tokens: data.train_file and data.dev_file in data.path, a "
       "byte-level BPE's data.vocab"},
      {"synthetic",
       "made-up images, clips or text with classes, clicks, or running tokens, all of which can be learnt; reads no "
       "file"},
  };
  for (const auto& [name, help] : source_helps) fmt::print("{:<14} {}\n", name, help);
}

/// "train" of "train.optimizer.lr", "seed" of "seed".
std::string section_of(const Key& key) { return key.name.substr(0, key.name.find('.')); }

/// Those of one section; all for an empty one.
std::vector<Key> keys_of(const std::string& section) {
  std::vector<std::string> sections;
  for (const Key& key : config_keys()) sections.push_back(section_of(key));
  if (!section.empty() && find_key(section) == nullptr && !is_section(section)) {
    fail_usage("list keys: no section {}{}", shown(section), did_you_mean(section, sections));
  }
  std::vector<Key> keys;
  for (const Key& key : config_keys()) {
    if (section.empty() || key.name == section || key.name.starts_with(section + ".")) keys.push_back(key);
  }
  return keys;
}

std::string text_of(const Key& key) {
  const std::string fallback = key.required ? "required" : "default " + default_of(key).dump();
  return fmt::format("{}\n    {}\n    {}; {}{}\n", key.name, key.help, describe(key), fallback,
                     key.environment.empty() ? "" : "; environment " + key.environment);
}

std::string markdown_of(const Key& key) {
  return fmt::format("| `{}` | {} | {}{} | {} |\n", key.name, markdown_cell(key.help), markdown_cell(describe(key)),
                     key.environment.empty() ? "" : "; environment `" + key.environment + "`",
                     key.required ? "required" : "`" + markdown_cell(default_of(key).dump()) + "`");
}

/// With a heading above each section where all are listed.
void list_keys(const std::string& section, const FormatOptions& format) {
  const std::vector<Key> keys = keys_of(section);
  if (format.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const Key& key : keys) {
      list.push_back({{"key", key.name},
                      {"help", key.help},
                      {"takes", describe(key)},
                      {"required", key.required},
                      {"default", key.required ? nlohmann::json() : default_of(key)},
                      {"environment", key.environment}});
    }
    fmt::print("{}\n", list.dump(2));
    return;
  }
  if (format.markdown) fmt::print("# Keys of a configuration\n\nMade by `ptrain list keys --markdown`.\n");
  std::string current;
  for (const Key& key : keys) {
    const bool begins = section_of(key) != current;
    if (format.markdown && begins) {
      fmt::print("\n## {}\n\n| key | meaning | takes | default |\n| --- | --- | --- | --- |\n", section_of(key));
    } else if (section.empty() && begins) {
      fmt::print("{}[{}]\n", current.empty() ? "" : "\n", section_of(key));
    }
    current = section_of(key);
    fmt::print("{}", format.markdown ? markdown_of(key) : text_of(key));
  }
}

}  // namespace

void add_list_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("list", "list models, data sources, flags or configuration keys");
  command->require_subcommand(1);
  command->footer("Example:\n  ptrain list keys");
  CLI::App* models = command->add_subcommand("models", "what model.name takes: parameters, arithmetic, weights");
  const auto models_format = std::make_shared<FormatOptions>();
  models_format->add_to(*models);
  models->callback([models_format] { list_models(*models_format); });
  command->add_subcommand("data", "what data.source takes, and the files each reads")->callback(list_data);
  command->add_subcommand("flags", "keys named after PaddlePaddle's flags")->callback([] { list_keys("flags", {}); });
  const auto section = std::make_shared<std::string>();
  CLI::App* keys = command->add_subcommand("keys", "every configuration key, or those of a section");
  keys->add_option("SECTION", *section, "such as train, or train.optimizer");
  const auto format = std::make_shared<FormatOptions>();
  format->add_to(*keys);
  keys->callback([section, format] { list_keys(*section, *format); });
}

}  // namespace ptrain
