#include "core/accept/expected_file.h"

#include "core/base/errors.h"
#include "core/config/text.h"
#include "core/config/yaml_tree.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <charconv>

namespace ptrain {
namespace {

class Reader {
 public:
  explicit Reader(const std::filesystem::path& file) : file_(file.string()) { machine_.source = file_; }

  ExpectedMachine read(const YamlValue& root) {
    for (const YamlEntry& entry : root.entries) {
      if (entry.key == "about") {
        machine_.about = text_of(entry, "");
      } else if (entry.key == "tolerance") {
        machine_.tolerance = number_of(entry, "", 0, 0.99);
      } else if (entry.key == "gpus") {
        machine_.gpus = number_of(entry, "", 0, 1e4);
      } else if (entry.key == "cpu") {
        read_part(entry, FactOf::cpu, machine_.cpu);
      } else if (entry.key == "gpu") {
        read_part(entry, FactOf::gpu, machine_.gpu);
      } else {
        refuse_unknown(entry, "", {"about", "tolerance", "gpus", "cpu", "gpu"});
      }
    }
    return std::move(machine_);
  }

 private:
  [[noreturn]] void refuse(const YamlEntry& entry, std::string_view section, std::string_view expected) const {
    const bool scalar = entry.value.kind == YamlValue::Kind::scalar;
    fail_usage("{}:{}: {}{}: expected {}{}", file_, entry.line, section, entry.key, expected,
               scalar ? ", got " + shown(entry.value.text) : "");
  }
  [[noreturn]] void refuse_unknown(const YamlEntry& entry, std::string_view section,
                                   const std::vector<std::string>& known) const {
    fail_usage("{}:{}: {}{}: unknown key of expected values{}", file_, entry.line, section, entry.key,
               did_you_mean(entry.key, known));
  }
  std::string text_of(const YamlEntry& entry, std::string_view section) const {
    if (entry.value.kind != YamlValue::Kind::scalar || entry.value.text.empty()) refuse(entry, section, "a text");
    return entry.value.text;
  }
  /// Finite: NaN is in no range.
  double number_of(const YamlEntry& entry, std::string_view section, double low, double high) const {
    const std::string& text = entry.value.text;
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (entry.value.kind != YamlValue::Kind::scalar || error != std::errc() || end != text.data() + text.size() ||
        !(number >= low && number <= high)) {
      refuse(entry, section, fmt::format("a number from {} to {}", low, high));
    }
    return number;
  }
  void read_part(const YamlEntry& part, FactOf of, PartFacts& facts) const {
    if (part.value.kind != YamlValue::Kind::map) refuse(part, "", "keys and values");
    const std::string section = part.key + ".";
    const std::vector<std::string> known = fact_names(of);
    for (const YamlEntry& entry : part.value.entries) {
      if (std::find(known.begin(), known.end(), entry.key) == known.end()) refuse_unknown(entry, section, known);
      if (entry.key == "model" || entry.key == "driver") {
        facts.texts[entry.key] = text_of(entry, section);
      } else {
        facts.figures[entry.key] = number_of(entry, section, 0, 1e12);
      }
    }
  }

  std::string file_;
  ExpectedMachine machine_;
};

/// In single quotes, where only they themselves mean something.
std::string quoted(const std::string& text) {
  std::string quotes;
  for (const char c : text) quotes += c == '\'' ? "''" : std::string(1, c);
  return "'" + quotes + "'";
}

std::string yaml_of(std::string_view name, const PartFacts& part) {
  if (part.empty()) return {};
  std::string yaml = fmt::format("{}:\n", name);
  for (const auto& [key, text] : part.texts) yaml += fmt::format("  {}: {}\n", key, quoted(text));
  for (const FactKey& key : fact_keys()) {
    const auto found = part.figures.find(key.name);
    if (found == part.figures.end() || key.kind == FactKind::most) continue;  // errors are never expected
    yaml += fmt::format("  {}: {:.5g}{}\n", key.name, found->second,
                        key.unit.empty() ? "" : fmt::format("  # {}", key.unit));
  }
  return yaml;
}

}  // namespace

ExpectedMachine load_expected(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) fail_usage("--expect: {}: no such file", file.string());
  return Reader(file).read(parse_yaml(read_file(file), file.string()));
}

void require_new(const std::filesystem::path& file) {
  if (std::filesystem::exists(file)) {
    fail_usage("--save: {}: is there already; remove it, or name another", file.string());
  }
}

void save_expected(const ExpectedMachine& machine, const std::filesystem::path& file) {
  std::string yaml = fmt::format("# {}\ntolerance: {}  # share that a measured rate or clock may be lower by\n",
                                 machine.about, machine.tolerance);
  if (machine.gpus) yaml += fmt::format("gpus: {}\n", *machine.gpus);
  write_file_atomic(file, yaml + yaml_of("cpu", machine.cpu) + yaml_of("gpu", machine.gpu));
}

PartFacts common_facts(std::span<const PartFacts> parts) {
  if (parts.empty()) return {};
  PartFacts common = parts.front();
  for (const PartFacts& part : parts) {
    std::erase_if(common.texts, [&](const auto& text) {
      const auto found = part.texts.find(text.first);
      return found == part.texts.end() || found->second != text.second;
    });
    std::erase_if(common.figures, [&](const auto& figure) { return !part.figures.contains(figure.first); });
    for (auto& [name, value] : common.figures) value = std::min(value, part.figures.at(name));
  }
  return common;
}

}  // namespace ptrain
