#include "cli/common.h"

#include "cli/program_catalogs.h"
#include "cli/reference/command_tree.h"
#include "cli/shipped.h"
#include "core/base/errors.h"
#include "core/base/standard_streams.h"
#include "core/config/keys.h"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ptrain {
namespace {

struct Shortcut {
  const char* option;
  const char* key;
  const char* former_name = nullptr;  // of the option, still accepted
};
constexpr std::array<Shortcut, 6> shortcuts = {{{"--device", "device"},
                                                {"--amp", "amp.level"},
                                                {"--report", "output.report"},
                                                {"--out", "output.dir", "--output-dir"},
                                                {"--resume", "resume"},
                                                {"--seed", "seed"}}};
constexpr std::size_t device_shortcut = 0;
constexpr const char* fresh_key = "output.fresh";

}  // namespace

void ConfigOptions::add_to(CLI::App& command) {
  command.add_option("CONFIG", file_, "YAML file, such as configs/resnet50.yaml")->required();
  command
      .add_option("-o,--set", assignments_,
                  "key.path=value, overrides any key; repeatable (ptrain list keys lists them)")
      ->allow_extra_args(false)
      ->type_name(key_value);
  for (std::size_t i = 0; i < shortcuts.size(); ++i) {
    const Key* key = find_key(shortcuts[i].key);
    short_options_[i] =
        command.add_option(shortcuts[i].option, short_values_[i], fmt::format("{}: {}", key->name, key->help));
    if (shortcuts[i].former_name != nullptr) add_hidden_option(command, shortcuts[i].former_name, short_values_[i]);
    if (!key->choices.empty()) short_options_[i]->type_name(fmt::format("{}", fmt::join(key->choices, "|")));
  }
}

void ConfigOptions::add_output_to(CLI::App& command) {
  command.add_flag("--fresh", fresh_, fmt::format("{}: {}", fresh_key, find_key(fresh_key)->help));
  console_.add_to(command);
}

std::string ConfigOptions::unavailable_device() const {
  const std::string& device = short_values_[device_shortcut];
  return allows_unavailable_devices_ && !device_from_name(device) ? device : std::string{};
}

std::string ConfigOptions::file() const { return shipped_file(file_); }

std::vector<Override> ConfigOptions::overrides() const {
  std::vector<Override> overrides = parse_overrides(assignments_);
  for (std::size_t i = 0; i < shortcuts.size(); ++i) {
    if (short_values_[i].empty() && short_options_[i]->count() == 0) continue;
    const auto& [option, key, former_name] = shortcuts[i];
    if (i == device_shortcut && !unavailable_device().empty()) continue;
    overrides.push_back({key, short_values_[i], fmt::format("{} {}", option, short_values_[i])});
  }
  if (fresh_) overrides.push_back({fresh_key, "true", "--fresh"});
  return overrides;
}

LoadedConfig ConfigOptions::load() const { return load_config(file(), catalogs(), overrides()); }

void print_notes(const LoadedConfig& loaded) {
  for (const std::string& note : loaded.notes) print_error_line("note: " + note);
  for (const auto& [key, file] :
       {std::pair{"model.weights", loaded.config.model.weights}, {"data.vocab", loaded.config.data.vocab}}) {
    std::error_code error;
    if (file.empty() || std::filesystem::exists(file, error)) continue;
    const bool is_fetched = key == std::string_view("model.weights") || file.starts_with("weights/");
    print_error_line(fmt::format("note: {}: {} does not exist{}", key, file,
                                 is_fetched ? "; scripts/fetch_weights.sh fetches published ones" : ""));
  }
}

}  // namespace ptrain
