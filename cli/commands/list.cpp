// ptrain list: lists models, data sources, flags and configuration keys.
#include "cli/commands.h"
#include "cli/model_list.h"
#include "cli/output_format.h"
#include "cli/program_catalogs.h"
#include "core/analysis/markdown.h"
#include "core/base/errors.h"
#include "core/bench/suite_keys.h"
#include "core/config/keys.h"
#include "core/config/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace ptrain {
namespace {

std::vector<std::string_view> collect_forms(const DataSourceEntry& source) {
  std::vector<std::string_view> forms;
  for (const SampleForm form : source.provides) forms.push_back(enum_name(form));
  return forms;
}

void list_data(const FormatOptions& format) {
  if (format.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const DataSourceEntry& source : catalogs().sources()) {
      list.push_back(
          {{"name", source.name}, {"help", source.help}, {"gives", collect_forms(source)}, {"keys", source.keys}});
    }
    fmt::print("{}\n", list.dump(2));
    return;
  }
  if (format.markdown) fmt::print("| `data.source` | gives | files | keys of its own |\n| --- | --- | --- | --- |\n");
  for (const DataSourceEntry& source : catalogs().sources()) {
    if (format.markdown) {
      fmt::print("| `{}` | {} | {} | `{}` |\n", source.name, fmt::join(collect_forms(source), ", "),
                 markdown_cell(source.help), fmt::join(source.keys, "`, `"));
    } else {
      fmt::print("{:<14} {}\n", source.name, source.help);
    }
  }
}

/// "train" of "train.optimizer.lr", "seed" of "seed".
std::string find_section(const Key& key) { return key.name.substr(0, key.name.find('.')); }

/// The name of the list of a suite's keys.
constexpr const char* suite_section = "bench";

/// Keys of one section; all for an empty name.
std::vector<Key> select_keys(const std::string& section) {
  std::vector<std::string> sections = {suite_section};
  for (const Key& key : catalogs().keys()) sections.push_back(find_section(key));
  if (!section.empty() && find_key(section) == nullptr && !is_section(section)) {
    fail_usage("list keys: no section {}{}", shown(section), did_you_mean(section, sections));
  }
  std::vector<Key> keys;
  for (const Key& key : catalogs().keys()) {
    if (section.empty() || key.name == section || key.name.starts_with(section + ".")) keys.push_back(key);
  }
  return keys;
}

std::string format_key(const Key& key) {
  const std::string fallback = key.required ? "required" : "default " + default_value(key).dump();
  return fmt::format("{}\n    {}\n    {}; {}{}\n", key.name, key.help, describe(key), fallback,
                     key.environment.empty() ? "" : "; environment " + key.environment);
}

/// With blanks around the bars between choices: only there can a cell break its line.
std::string describe_values(const Key& key) {
  std::string text;
  for (const char c : describe(key)) text += c == '|' ? " | " : std::string(1, c);
  return text;
}

std::string format_markdown(const Key& key) {
  return fmt::format("| `{}` | {} | {}{} | {} |\n", key.name, markdown_cell(key.help),
                     markdown_cell(describe_values(key)),
                     key.environment.empty() ? "" : "; environment `" + key.environment + "`",
                     key.required ? "required" : "`" + markdown_cell(default_value(key).dump()) + "`");
}

/// The document's head: its sections, and where to read on.
void print_contents(const std::vector<Key>& keys) {
  fmt::print(
      "# Keys of a configuration\n\n"
      "Made by `ptrain list keys --markdown`. `ptrain list keys train.optimizer` prints one section, `-o key=value` "
      "sets\n"
      "a key, and [README.md](README.md) has recipes.\n\n");
  std::string current;
  for (const Key& key : keys) {
    if (const std::string section = find_section(key); section != current) {
      fmt::print("- [{0}](#{0})\n", section);
      current = section;
    }
  }
}

void list_suite_keys(const FormatOptions& format) {
  if (format.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const SuiteKey& key : suite_keys()) {
      list.push_back({{"key", key.name}, {"help", key.help}, {"takes", key.takes}, {"default", key.fallback}});
    }
    fmt::print("{}\n", list.dump(2));
    return;
  }
  if (format.markdown) {
    fmt::print(
        "# Keys of a suite\n\nMade by `ptrain list keys bench --markdown`. A suite is a YAML file for `ptrain bench`; "
        "those here are\nexamples, and `ptrain validate SUITE` checks one.\n\n"
        "| key | meaning | takes | default |\n| --- | --- | --- | --- |\n");
  }
  for (const SuiteKey& key : suite_keys()) {
    const std::string fallback = key.fallback.is_null() ? "" : key.fallback.dump();
    if (format.markdown) {
      fmt::print("| `{}` | {} | {} | {} |\n", key.name, markdown_cell(key.help), markdown_cell(key.takes),
                 fallback.empty() ? "" : "`" + fallback + "`");
    } else {
      fmt::print("{}\n    {}\n    {}{}\n", key.name, key.help, key.takes,
                 fallback.empty() ? "" : "; default " + fallback);
    }
  }
}

/// With a heading above each section if all are listed.
void list_keys(const std::string& section, const FormatOptions& format) {
  if (section == suite_section) return list_suite_keys(format);
  const std::vector<Key> keys = select_keys(section);
  if (format.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const Key& key : keys) {
      list.push_back({{"key", key.name},
                      {"help", key.help},
                      {"takes", describe(key)},
                      {"required", key.required},
                      {"default", key.required ? nlohmann::json() : default_value(key)},
                      {"environment", key.environment}});
    }
    fmt::print("{}\n", list.dump(2));
    return;
  }
  if (format.markdown) print_contents(keys);
  std::string current;
  for (const Key& key : keys) {
    const bool begins = find_section(key) != current;
    if (format.markdown && begins) {
      fmt::print("\n## {}\n\n| key | meaning | takes | default |\n| --- | --- | --- | --- |\n", find_section(key));
    } else if (section.empty() && begins) {
      fmt::print("{}[{}]\n", current.empty() ? "" : "\n", find_section(key));
    }
    current = find_section(key);
    fmt::print("{}", format.markdown ? format_markdown(key) : format_key(key));
  }
}

}  // namespace

void add_list_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("list", "list models, data sources, flags or configuration keys");
  command->require_subcommand(1);
  command->footer("Example:\n  ptrain list keys");
  CLI::App* models = command->add_subcommand("models", "values of model.name, with parameters, arithmetic and weights");
  const auto models_format = std::make_shared<FormatOptions>();
  models_format->add_to(*models);
  models->callback([models_format] { list_models(*models_format); });
  CLI::App* data = command->add_subcommand("data", "values of data.source, and the files each reads");
  const auto data_format = std::make_shared<FormatOptions>();
  data_format->add_to(*data);
  data->callback([data_format] { list_data(*data_format); });
  command->add_subcommand("flags", "keys named after PaddlePaddle's flags")->callback([] { list_keys("flags", {}); });
  const auto section = std::make_shared<std::string>();
  CLI::App* keys = command->add_subcommand("keys", "every configuration key, or those of a section");
  keys->add_option("SECTION", *section, "such as train, or train.optimizer; bench: the keys of a suite");
  const auto format = std::make_shared<FormatOptions>();
  format->add_to(*keys);
  keys->callback([section, format] { list_keys(*section, *format); });
}

}  // namespace ptrain
