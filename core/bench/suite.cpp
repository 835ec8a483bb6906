#include "core/bench/suite.h"

#include "core/analysis/fingerprint.h"
#include "core/base/errors.h"
#include "core/base/hash.h"
#include "core/bench/suite_keys.h"
#include "core/config/keys.h"
#include "core/config/text.h"
#include "core/io/atomic_file.h"
#include "core/yaml/yaml_reader.h"

#include <algorithm>
#include <array>
#include <set>

namespace ptrain {
namespace {

constexpr std::size_t most_cases = 4096;
constexpr const char* axis_option = "--axis";

/// One `key: value` of a case, with its line.
struct Setting {
  std::string key;
  std::string value;
  std::string where;
};

class SuiteReader : YamlReader {
 public:
  SuiteReader(std::string file, const Catalogs& catalogs, std::span<const Override> extra,
              std::span<const AxisOption> options)
      : YamlReader(std::move(file), "a suite"), catalogs_(catalogs), extra_(extra), options_(options) {
    suite_.file = this->file();
    suite_.name = suite_.file.stem().string();
  }

  Suite read(const YamlValue& root) {
    if (is_training_configuration(root)) {
      take_configuration();
    } else {
      for (const YamlEntry& entry : root.entries) read_entry(entry);
    }
    for (const AxisOption& option : options_) take_option(option);
    check_parts();
    label_axes();
    if (listed_.empty()) {
      reject_set_axes();
      add_factorial(0, {});
      reject_equal_values();
    } else {
      for (const ListedCase& item : listed_) add_case(item.name, item.settings, item.command);
    }
    if (suite_.vary_seed) require_seed_placeholders(suite_);
    if (published_) {
      for (BenchCase& item : suite_.cases) item.published = {*published_, published_seeds_};
    }
    return std::move(suite_);
  }

  static bool is_training_configuration(const YamlValue& root) {
    const auto is_runs = [](const YamlEntry& e) { return is_section(e.key); };
    return !is_suite(root) && std::any_of(root.entries.begin(), root.entries.end(), is_runs);
  }

 private:
  struct ListedCase {
    std::string name;
    std::vector<Setting> settings;
    BenchCommand command;
  };

  /// Rejects parts that do not go together.
  void check_parts() const {
    if (!options_.empty() && !listed_.empty()) {
      fail_usage("{} {}: {} lists its cases; an axis goes with axes, or with a training configuration", axis_option,
                 options_.front().key, file());
    }
    const bool own =
        std::any_of(listed_.begin(), listed_.end(), [](const ListedCase& item) { return item.command.text.empty(); });
    const bool needs_base = listed_.empty() || own;
    if (suite_.config.empty() && command_.text.empty() && needs_base) {
      fail_usage("{}: config: required: the YAML file of the base run, or command: for another program", file());
    }
    if (!suite_.config.empty() && !command_.text.empty()) {
      fail_usage("{}: command: give config or command, not both; a listed case can have a command of its own", file());
    }
    if (suite_.config.empty() && !extra_.empty()) {
      fail_usage("{}: sets a key of a configuration, and a command has none", extra_.front().spelled);
    }
    if (!axes_.empty() && !listed_.empty()) fail_usage("{}: cases: give axes or cases, not both", file());
    if (suite_.confidence && suite_.confidence->most_repeats < suite_.repeats) {
      fail_usage("{}: confidence.most_repeats: expected at least repeats ({})", file(), suite_.repeats);
    }
    require_settings();
  }
  void take_configuration() {
    suite_.config = suite_.file;
    std::vector<std::string> keys;
    for (const AxisOption& option : options_) keys.push_back(option.key);
    suite_.about = keys.empty() ? fmt::format("{}.", file()) : fmt::format("{}: {}.", file(), fmt::join(keys, " x "));
  }
  /// Adds an axis of the command line, or replaces the suite's axis of that key.
  void take_option(const AxisOption& option) {
    const auto is_same = [&](const auto& other) { return other.key == option.key; };
    if (std::count_if(options_.begin(), options_.end(), is_same) > 1) {
      fail_usage("{} {}: given twice; list all its values in one", axis_option, option.key);
    }
    std::vector<Setting> values;
    for (const std::string& value : option.values) {
      values.push_back({option.key, value, fmt::format("{} {}={}", axis_option, option.key, value)});
    }
    const auto own = std::find_if(suite_.axes.begin(), suite_.axes.end(), is_same);
    if (own != suite_.axes.end()) {
      axes_[static_cast<std::size_t>(own - suite_.axes.begin())] = std::move(values);
    } else {
      axes_.push_back(std::move(values));
      suite_.axes.push_back({option.key, "", {}});
    }
  }
  /// Rejects axes over what every run of a benchmark gets from it, so that their values would not differ.
  void require_settings() const {
    if (suite_.config.empty()) return;
    constexpr std::array<std::string_view, 7> fixed{"output.dir",
                                                    "output.report",
                                                    "output.fresh",
                                                    "output.save",
                                                    "resume",
                                                    "output.checkpoint_every_steps",
                                                    "output.keep_checkpoints"};
    for (const BenchAxis& axis : suite_.axes) {
      if (std::find(fixed.begin(), fixed.end(), axis.key) == fixed.end()) continue;
      fail_usage("{} {}: is no setting of a measurement: a benchmark sets it for every run", axis_option, axis.key);
    }
  }
  /// Rejects an axis whose key is set for every case.
  void reject_set_axes() const {
    for (const Override& item : extra_) {
      const auto is_same = [&](const BenchAxis& axis) { return axis.key == item.key; };
      if (std::none_of(suite_.axes.begin(), suite_.axes.end(), is_same)) continue;
      fail_usage("{}: is an axis of {}, whose values {} {}=... lists", item.spelled, suite_.name, axis_option,
                 item.key);
    }
  }
  /// Rejects values that are spelled differently and mean the same.
  void reject_equal_values() const {
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      if (suite_.axes[i].values.size() == axes_[i].size()) continue;
      fail_usage("{}: {}: two of its values are the same", axes_[i].front().where, suite_.axes[i].key);
    }
  }

  void read_entry(const YamlEntry& entry) {
    const std::string& key = entry.key;
    if (key == "name") {
      suite_.name = require_name(as_text(entry));
    } else if (key == "about") {
      suite_.about = as_text(entry);
    } else if (key == "config") {
      suite_.config = (suite_.file.parent_path() / as_text(entry)).lexically_normal();
    } else if (is_command_key(key)) {
      read_command(command_, entry, "");
    } else if (key == "set") {
      common_ = read_settings(entry);
    } else if (key == "axes") {
      for (const YamlEntry& axis : as_map(entry)) read_axis(axis);
    } else if (key == "cases") {
      read_cases(entry);
    } else if (key == "repeats") {
      suite_.repeats = as_integer(entry, 1, 1000);
    } else if (key == "seed") {
      suite_.seed = as_integer(entry, 0, 1e15);
    } else if (key == "vary_seed") {
      suite_.vary_seed = as_bool(entry);
    } else if (key == "published") {
      published_ = as_number(entry, -1e9, 1e9);
    } else if (key == "published_seeds") {
      published_seeds_ = as_integer(entry, 1, 1000);
    } else if (key == "timeout_seconds") {
      suite_.timeout_seconds = as_number(entry, 0.1, 1e6);
    } else if (key == "steady") {
      for (const YamlEntry& item : as_map(entry)) read_steady(item);
    } else if (key == "confidence") {
      suite_.confidence = ConfidenceTarget{1, 1000};
      for (const YamlEntry& item : as_map(entry)) read_confidence(item);
    } else {
      reject_unknown(entry, "", suite_key_names(""));
    }
  }
  static bool is_command_key(const std::string& key) { return key == "command" || key == "metric" || key == "unit"; }
  void read_command(BenchCommand& command, const YamlEntry& entry, std::string_view section) const {
    (entry.key == "command"  ? command.text
     : entry.key == "metric" ? command.metric
                             : command.unit) = as_text(entry, section);
  }
  void read_steady(const YamlEntry& entry) {
    if (entry.key == "most_warmup_steps") {
      suite_.steady.most_warmup_steps = as_integer(entry, 0, 1e9, "steady.");
    } else if (entry.key == "drift_percent") {
      suite_.steady.drift_percent = as_number(entry, 0.1, 1000, "steady.");
    } else if (entry.key == "required") {
      suite_.steady.required = as_bool(entry, "steady.");
    } else {
      reject_unknown(entry, "steady.", suite_key_names("steady."));
    }
  }
  void read_confidence(const YamlEntry& entry) {
    if (entry.key == "target_percent") {
      suite_.confidence->percent = as_number(entry, 0.01, 100, "confidence.");
    } else if (entry.key == "most_repeats") {
      suite_.confidence->most_repeats = as_integer(entry, 1, 1000, "confidence.");
    } else {
      reject_unknown(entry, "confidence.", suite_key_names("confidence."));
    }
  }

  /// A value as written on the command line.
  std::string value_text(const YamlEntry& entry, const YamlValue& value) const {
    if (value.kind == YamlValue::Kind::scalar) return value.text;
    if (value.kind != YamlValue::Kind::list) reject(entry, "", "a value or a list");
    std::vector<std::string> items;
    for (const YamlValue& item : value.items) items.push_back(item.text);
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  std::vector<Setting> read_settings(const YamlEntry& entry) const {
    std::vector<Setting> settings;
    for (const YamlEntry& item : as_map(entry)) {
      settings.push_back({item.key, value_text(item, item.value), at(item.line)});
    }
    return settings;
  }
  void read_axis(const YamlEntry& entry) {
    std::vector<Setting> values;
    for (const YamlValue& item : as_list(entry, "axes.", "a list of values")) {
      values.push_back({entry.key, value_text(entry, item), at(item.line == 0 ? entry.line : item.line)});
    }
    axes_.push_back(std::move(values));
    suite_.axes.push_back({entry.key, "", {}});
  }
  void read_cases(const YamlEntry& entry) {
    for (const YamlValue& item : as_list(entry, "", "a list of cases")) {
      ListedCase listed;
      for (const YamlEntry& part : item.entries) {
        if (part.key == "name") {
          listed.name = as_text(part, "cases.");
        } else if (part.key == "set") {
          listed.settings = read_settings(part);
        } else if (is_command_key(part.key)) {
          read_command(listed.command, part, "cases.");
        } else {
          reject_unknown(part, "cases.", suite_key_names("cases."));
        }
      }
      if (listed.name.empty()) fail_usage("{}: cases: each needs a name, {{name: ..., set: {{...}}}}", at(item.line));
      listed_.push_back(std::move(listed));
    }
  }

  void label_axes() {
    for (BenchAxis& axis : suite_.axes) {
      const auto last = [](const std::string& key) { return key.substr(key.rfind('.') + 1); };
      const auto same = std::count_if(suite_.axes.begin(), suite_.axes.end(),
                                      [&](const BenchAxis& other) { return last(other.key) == last(axis.key); });
      axis.label = same == 1 ? last(axis.key) : axis.key;
      const bool requested =
          std::any_of(options_.begin(), options_.end(), [&](const AxisOption& o) { return o.key == axis.key; });
      if (requested) suite_.name += "-" + axis.label;
    }
  }
  void add_factorial(std::size_t axis, const std::vector<Setting>& settings) {
    if (axis == axes_.size()) {
      std::vector<std::string> parts;
      for (std::size_t i = 0; i < settings.size(); ++i) {
        parts.push_back(fmt::format("{}={}", suite_.axes[i].label, settings[i].value));
      }
      add_case(parts.empty() ? "base" : fmt::format("{}", fmt::join(parts, ",")), settings, {});
      return;
    }
    for (const Setting& value : axes_[axis]) {
      std::vector<Setting> extended = settings;
      extended.push_back(value);
      add_factorial(axis + 1, extended);
    }
  }
  /// Rejects a name that has several lines or is too long for a folder.
  const std::string& require_name(const std::string& name) const {
    constexpr std::size_t longest = 200;
    if (const auto odd = std::find_if(name.begin(), name.end(), [](unsigned char c) { return c < ' ' || c == 127; });
        odd != name.end()) {
      fail_usage("{}: {}: a name must not contain line ends or other control characters", file(), shown(name));
    }
    if (name.size() > longest) {
      fail_usage(
          "{}: {}...: a name of {} characters is too long for a folder ({} at most); name the cases in a list (cases:)",
          file(), shown(name.substr(0, 40)), name.size(), longest);
    }
    return name;
  }
  /// Adds a case of the configuration, or of `command`, whose missing parts are the suite's.
  void add_case(const std::string& name, const std::vector<Setting>& settings, const BenchCommand& command) {
    if (suite_.cases.size() >= most_cases) fail_usage("{}: more than {} cases", file(), most_cases);
    const bool own = command.text.empty() && command_.text.empty();
    BenchCase item = own ? make_own_case(name, settings) : make_command_case(name, settings, command);
    item.name = name;
    item.folder = folder_name(require_name(name));
    if (!folders_.insert(item.folder).second) fail_usage("{}: cases: {} twice", file(), shown(name));
    for (BenchAxis& axis : suite_.axes) {
      const nlohmann::json& value = item.settings[axis.key];
      if (std::find(axis.values.begin(), axis.values.end(), value) == axis.values.end()) axis.values.push_back(value);
    }
    suite_.cases.push_back(std::move(item));
  }
  BenchCase make_own_case(const std::string& name, const std::vector<Setting>& settings) const {
    std::vector<Override> overrides;
    for (const Setting& s : common_) overrides.push_back({s.key, s.value, s.where});
    for (const Setting& s : settings) overrides.push_back({s.key, s.value, s.where});
    overrides.insert(overrides.end(), extra_.begin(), extra_.end());
    const LoadedConfig loaded = load_config(suite_.config, catalogs_, overrides);
    BenchCase item = case_of_config(loaded.config, fmt::format("{}: {}", file(), name));
    item.overrides = std::move(overrides);
    for (const Setting& s : settings) item.settings[s.key] = find_key(s.key)->get(loaded.config);
    return item;
  }
  BenchCase make_command_case(const std::string& name, const std::vector<Setting>& settings,
                              BenchCommand command) const {
    const std::string where = fmt::format("{}: {}", file(), name);
    if (command.text.empty()) command.text = command_.text;
    if (command.metric.empty()) command.metric = command_.metric;
    if (command.unit.empty()) command.unit = command_.unit;
    BenchCase item;
    item.settings = nlohmann::json::object();
    for (const Setting& s : settings) {
      if (!has_placeholder(command, s.key)) {
        fail_usage("{}: {} has no effect: the command has no {{{}}}", s.where, s.key, s.key);
      }
      command = fill_placeholder(command, s.key, s.value);
      item.settings[s.key] = s.value;
    }
    for (const Setting& s : common_) command = fill_placeholder(command, s.key, s.value);
    check_command(command, where);
    item.work = {{"command", command.text}, {"metric", command.metric}, {"unit", command.unit}};
    item.config_hash = fmt::format("fnv1a64:{:016x}", fnv1a64(item.work.dump()));
    item.seed = suite_.seed;
    item.command = std::move(command);
    return item;
  }

  const Catalogs& catalogs_;
  std::span<const Override> extra_;
  std::span<const AxisOption> options_;
  Suite suite_;
  std::vector<Setting> common_;
  std::vector<std::vector<Setting>> axes_;
  std::vector<ListedCase> listed_;
  BenchCommand command_;
  std::optional<double> published_;
  std::int64_t published_seeds_ = PublishedValue{}.seeds;
  std::set<std::string> folders_;
};

}  // namespace

BenchCase case_of_config(const Config& config, const std::string& where) {
  if (config.train.steps > 0 && config.train.steps < fewest_steps) {
    fail_usage("{}: train.steps: {} are too few to detect the end of the warm-up, expected at least {}", where,
               config.train.steps, fewest_steps);
  }
  BenchCase item;
  item.work = describe_changed_work(config);
  item.settings = nlohmann::json::object();
  item.config_hash = config_hash(config);
  item.seed = config.seed;
  item.evaluates = config.eval.any();
  return item;
}

AxisOption parse_axis(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    fail_usage("{} {}: expected key.path=value,value, such as amp.level=O0,O1", axis_option, shown(assignment));
  }
  AxisOption axis{std::string(assignment.substr(0, equals)), {""}};
  int depth = 0;
  for (const char c : assignment.substr(equals + 1)) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) {
      axis.values.emplace_back();
    } else {
      axis.values.back() += c;
    }
  }
  if (axis.values.size() == 1) {
    fail_usage("{} {}: expected two or more values separated by commas (-o sets one value for every case)", axis_option,
               shown(assignment));
  }
  for (std::size_t i = 0; i < axis.values.size(); ++i) {
    if (std::count(axis.values.begin(), axis.values.end(), axis.values[i]) == 1) continue;
    fail_usage("{} {}: {} twice", axis_option, shown(assignment), shown(axis.values[i]));
  }
  return axis;
}

Suite load_suite(const std::filesystem::path& file, const Catalogs& catalogs, std::span<const Override> extra,
                 std::span<const AxisOption> axes) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) fail_usage("{}: no such file", file.string());
  return SuiteReader(file.string(), catalogs, extra, axes).read(parse_yaml(read_file(file), file.string()));
}

Suite command_suite(const BenchCommand& command, std::span<const AxisOption> axes, const Catalogs& catalogs) {
  YamlValue root;
  root.kind = YamlValue::Kind::map;
  const auto add = [&](const char* key, const std::string& text) {
    YamlValue value;
    value.kind = YamlValue::Kind::scalar;
    value.text = text;
    if (!text.empty()) root.entries.push_back({key, 0, value});
  };
  add("name", "command");
  add("command", command.text);
  add("metric", command.metric);
  add("unit", command.unit);
  return SuiteReader("--command", catalogs, {}, axes).read(root);
}

void require_seed_placeholders(const Suite& suite) {
  for (const BenchCase& item : suite.cases) {
    if (item.command.text.empty() || has_placeholder(item.command, "seed")) continue;
    fail_usage("{}: {}: the seeds vary, and the command has no {{seed}}", suite.file.string(), item.name);
  }
}

bool is_suite(const YamlValue& root) {
  return std::any_of(root.entries.begin(), root.entries.end(), [](const YamlEntry& e) {
    return e.key == "config" || e.key == "axes" || e.key == "cases" || e.key == "command";
  });
}

}  // namespace ptrain
