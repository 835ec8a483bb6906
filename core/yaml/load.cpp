#include "core/yaml/load.h"

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/config/keys.h"
#include "core/config/text.h"
#include "core/config/value.h"
#include "core/yaml/validation.h"
#include "core/yaml/yaml_tree.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace ptrain {
namespace {

/// The last component of every key and section directly below `section` ("" for the top).
std::vector<std::string> list_names_below(std::string_view section) {
  std::vector<std::string> names;
  const std::string prefix = section.empty() ? "" : std::string(section) + ".";
  for (const Key& key : config_keys()) {
    if (!key.name.starts_with(prefix)) continue;
    std::string name = key.name.substr(prefix.size());
    name = name.substr(0, name.find('.'));
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

std::vector<std::string> list_all_names() {
  std::vector<std::string> names;
  for (const Key& key : config_keys()) names.push_back(key.name);
  return names;
}

/// Whether a message can show a name without quotes.
bool is_plain(std::string_view name) {
  return !name.empty() && name.size() <= 100 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
  });
}

[[noreturn]] void reject_unknown(std::string_view where, std::string_view section, const std::string& name) {
  const std::string full = section.empty() ? name : std::string(section) + "." + name;
  std::string hint = did_you_mean(name, list_names_below(section));
  if (!hint.empty() && !section.empty()) hint.insert(hint.find("mean ") + 5, std::string(section) + ".");
  if (hint.empty()) {  // a key of another section
    for (const Key& key : config_keys()) {
      if (hint.empty() && key.name.ends_with("." + name)) hint = "; did you mean " + key.name + "?";
    }
  }
  if (hint.empty()) hint = did_you_mean(full, list_all_names());
  fail_usage("{}: {}: unknown key{}", where, is_plain(full) ? full : shown(full), hint);
}

std::string read_text(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) fail_usage("{}: is a folder, expected a YAML file", file.string());
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    const bool missing = !std::filesystem::exists(file, error) && !error;
    fail_usage("{}: {}", file.empty() ? "\"\"" : file.string(),
               missing ? "no such file"
               : error ? error.message()
                       : "cannot be read");
  }
  std::string text((std::size_t{1} << 20) + 1, '\0');  // one byte more than parse_yaml accepts
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) fail("{}: cannot be read", file.string());
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

/// The one entry of a file that is no key: a base configuration.
constexpr const char* base_key = "base";

class Loader {
 public:
  Loader(std::string_view name, const Catalogs& catalogs) : catalogs_(catalogs) {
    loaded_.file = name;
    for (const Key& key : catalogs_.keys()) loaded_.origins[key.name] = "default";
  }

  /// Applies the base of a document, relative to its own folder, then the document.
  void apply_document(std::string_view text, const std::string& name, int depth = 0) {
    YamlValue document = parse_yaml(text, name);
    const auto base = std::find_if(document.entries.begin(), document.entries.end(),
                                   [](const YamlEntry& entry) { return entry.key == base_key; });
    if (base != document.entries.end()) {
      apply_base(*base, name, depth);
      document.entries.erase(base);
    }
    file_ = name;
    apply_map(document);
  }

  void apply_map(const YamlValue& map, const std::string& section = {}) {
    for (const YamlEntry& entry : map.entries) {
      const std::string where = fmt::format("{}:{}", file_, entry.line);
      const std::string name = section.empty() ? entry.key : section + "." + entry.key;
      if (const Key* key = catalogs_.find_key(name); key != nullptr && entry.key.find('.') == std::string::npos) {
        set(*key, check_value(*key, entry.value, where), where);
      } else if (is_section(name) && entry.key.find('.') == std::string::npos && !entry.key.empty()) {
        apply_section(entry, name, where);
      } else {
        if (key != nullptr || is_section(name)) reject_dotted(where, name);
        reject_unknown(where, section, entry.key);
      }
    }
  }

  void apply_environment(const Environment& environment) {
    for (const Key& key : catalogs_.keys()) {
      if (key.environment.empty()) continue;
      if (const auto text = environment(key.environment)) {
        const std::string where = "environment " + key.environment;
        set(key, check_text(key, *text, where), where);
      }
    }
  }

  void apply(const Override& item) {
    const Key* key = catalogs_.find_key(item.key);
    if (key == nullptr && is_section(item.key)) {
      fail_usage("{}: {}: is a section, set its keys one by one", shown_option(item), item.key);
    }
    if (key == nullptr) {
      const std::size_t dot = item.key.rfind('.');
      const std::string section = dot == std::string::npos ? "" : item.key.substr(0, dot);
      const bool known = section.empty() || is_section(section);
      reject_unknown(shown_option(item), known ? section : "",
                     known && !section.empty() ? item.key.substr(dot + 1) : item.key);
    }
    set(*key, check_text(*key, item.value, shown_option(item)), "command line");
  }

  LoadedConfig finish() {
    for (const Key& key : catalogs_.keys()) {
      if (key.required && !loaded_.is_set(key.name)) {
        fail_usage("{}: {}: required, {}", loaded_.file, key.name, describe_briefly(key));
      }
    }
    loaded_.config.model.entry = catalogs_.find_model(loaded_.config.model.entry.name);
    check_across(loaded_, catalogs_);
    return std::move(loaded_);
  }

 private:
  void set(const Key& key, const nlohmann::json& value, const std::string& origin) {
    key.set(loaded_.config, value);
    loaded_.origins[key.name] = origin;
  }
  void apply_section(const YamlEntry& entry, const std::string& name, const std::string& where) {
    if (entry.value.kind == YamlValue::Kind::map) {
      apply_map(entry.value, name);
    } else if (entry.value.kind == YamlValue::Kind::list && is_table(name)) {
      apply_map(find_columns(entry.value, name), name);
    } else if (entry.value.kind != YamlValue::Kind::null) {  // an empty section sets nothing
      fail_usage("{}: {}: expected a mapping of its keys, got {}", where, name,
                 entry.value.kind == YamlValue::Kind::list ? "a list" : shown(entry.value.text));
    }
  }
  /// Converts a table's rows to one list per key; every row has the same keys.
  YamlValue find_columns(const YamlValue& rows, const std::string& name) const {
    YamlValue columns;
    columns.kind = YamlValue::Kind::map;
    for (const YamlValue& row : rows.items) {
      const std::string where = fmt::format("{}:{}", file_, row.line);
      if (row.kind != YamlValue::Kind::map) fail_usage("{}: {}: expected a list of mappings", where, name);
      if (&row == &rows.items.front()) {
        for (const YamlEntry& entry : row.entries) {
          columns.entries.push_back({entry.key, entry.line, {YamlValue::Kind::list, false, entry.line, {}, {}, {}}});
        }
      }
      for (const YamlEntry& entry : row.entries) {
        if (find_entry(columns, entry.key) == nullptr) {
          fail_usage("{}: {}: {} is not in the first row; expected the same keys in all rows", where, name,
                     shown(entry.key));
        }
      }
      for (YamlEntry& column : columns.entries) {
        const YamlEntry* const entry = find_entry(row, column.key);
        if (entry == nullptr) {
          fail_usage("{}: {}: {} is missing, which the first row has", where, name, shown(column.key));
        }
        column.value.items.push_back(entry->value);
      }
    }
    return columns;
  }
  void apply_base(const YamlEntry& entry, const std::string& name, int depth) {
    constexpr int deepest = 8;
    const std::string where = fmt::format("{}:{}", name, entry.line);
    if (entry.value.kind != YamlValue::Kind::scalar || entry.value.text.empty()) {
      fail_usage("{}: {}: expected the file of another configuration", where, base_key);
    }
    const std::filesystem::path file = std::filesystem::path(name).parent_path() / entry.value.text;
    if (depth == deepest) fail_usage("{}: {}: chain of more than {} base files", where, base_key, deepest);
    if (!std::filesystem::is_regular_file(file)) fail_usage("{}: {}: no file {}", where, base_key, file.string());
    apply_document(read_text(file), file.string(), depth + 1);
  }
  [[noreturn]] static void reject_dotted(const std::string& where, const std::string& name) {
    fail_usage("{}: {}: dotted names are for the command line; nest the keys in a file", where, name);
  }
  static std::string shown_option(const Override& item) {
    return item.spelled.size() <= 120 && is_utf8(item.spelled) ? item.spelled : "-o " + shown(item.key);
  }

  const Catalogs& catalogs_;
  LoadedConfig loaded_;
  std::string file_;  // being read
};

}  // namespace

Override parse_override(std::string_view assignment, std::string_view option) {
  const std::string spelled = fmt::format("{} {}", option, assignment);
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    fail_usage("{} {}: sets a key of the configuration, expected key.path=value, such as train.optimizer.lr=0.1{}",
               option, shown(assignment), option == "-o" ? " (for the folder of results use --out)" : "");
  }
  return {std::string(assignment.substr(0, equals)), std::string(assignment.substr(equals + 1)), spelled};
}

std::vector<Override> parse_overrides(const std::vector<std::string>& assignments, std::string_view option) {
  std::vector<Override> overrides;
  for (const std::string& assignment : assignments) overrides.push_back(parse_override(assignment, option));
  return overrides;
}

std::optional<std::string> process_environment(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

LoadedConfig parse_config(std::string_view text, std::string_view name, const Catalogs& catalogs,
                          std::span<const Override> overrides, const Environment& environment) {
  Loader loader(name, catalogs);
  loader.apply_document(text, std::string(name));
  loader.apply_environment(environment);
  for (const Override& item : overrides) loader.apply(item);
  return loader.finish();
}

LoadedConfig load_config(const std::filesystem::path& file, const Catalogs& catalogs,
                         std::span<const Override> overrides, const Environment& environment) {
  return parse_config(read_text(file), file.string(), catalogs, overrides, environment);
}

}  // namespace ptrain
