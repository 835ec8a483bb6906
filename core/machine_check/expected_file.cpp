#include "core/machine_check/expected_file.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/yaml/yaml_reader.h"

#include <algorithm>

namespace ptrain {
namespace {

class ExpectedReader : YamlReader {
 public:
  explicit ExpectedReader(const std::filesystem::path& file) : YamlReader(file.string(), "expected values") {
    machine_.source = file.string();
  }

  ExpectedMachine read(const YamlValue& root) {
    for (const YamlEntry& entry : root.entries) {
      if (entry.key == "about") {
        machine_.about = as_text(entry);
      } else if (entry.key == "tolerance") {
        machine_.tolerance = as_number(entry, 0, 0.99);
      } else if (entry.key == "gpus") {
        machine_.gpus = as_number(entry, 0, 1e4);
      } else if (entry.key == "cpu") {
        read_part(entry, DeviceClass::cpu, machine_.cpu);
      } else if (entry.key == "gpu") {
        read_part(entry, DeviceClass::gpu, machine_.gpu);
      } else {
        reject_unknown(entry, "", {"about", "tolerance", "gpus", "cpu", "gpu"});
      }
    }
    return std::move(machine_);
  }

 private:
  void read_part(const YamlEntry& part, DeviceClass of, DeviceMetrics& metrics) const {
    const std::string section = part.key + ".";
    const std::vector<std::string> known = metric_names(of);
    for (const YamlEntry& entry : as_map(part)) {
      if (std::find(known.begin(), known.end(), entry.key) == known.end()) reject_unknown(entry, section, known);
      if (entry.key == "model" || entry.key == "driver") {
        metrics.texts[entry.key] = as_text(entry, section);
      } else {
        metrics.figures[entry.key] = as_number(entry, 0, 1e12, section);
      }
    }
  }

  ExpectedMachine machine_;
};

/// Quotes text for YAML in single quotes, where only the quote itself is special.
std::string quote_yaml(const std::string& text) {
  std::string quotes;
  for (const char c : text) quotes += c == '\'' ? "''" : std::string(1, c);
  return "'" + quotes + "'";
}

std::string format_yaml(std::string_view name, const DeviceMetrics& part) {
  if (part.empty()) return {};
  std::string yaml = fmt::format("{}:\n", name);
  for (const auto& [key, text] : part.texts) yaml += fmt::format("  {}: {}\n", key, quote_yaml(text));
  for (const MachineMetric& key : machine_metrics()) {
    const auto found = part.figures.find(key.name);
    if (found == part.figures.end() || key.kind == MetricRule::most) continue;  // errors are never expected
    yaml += fmt::format("  {}: {:.5g}{}\n", key.name, found->second,
                        key.unit.empty() ? "" : fmt::format("  # {}", key.unit));
  }
  return yaml;
}

}  // namespace

ExpectedMachine load_expected(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) fail_usage("--expect: {}: no such file", file.string());
  return ExpectedReader(file).read(parse_yaml(read_file(file), file.string()));
}

void require_absent(const std::filesystem::path& file) {
  if (std::filesystem::exists(file)) {
    fail_usage("--save: {}: already exists; remove it, or name another", file.string());
  }
}

void save_expected(const ExpectedMachine& machine, const std::filesystem::path& file) {
  std::string yaml = fmt::format("# {}\ntolerance: {}  # fraction by which a measured rate or clock may be lower\n",
                                 machine.about, machine.tolerance);
  if (machine.gpus) yaml += fmt::format("gpus: {}\n", *machine.gpus);
  write_file_atomic(file, yaml + format_yaml("cpu", machine.cpu) + format_yaml("gpu", machine.gpu));
}

DeviceMetrics combine_metrics(std::span<const DeviceMetrics> parts) {
  if (parts.empty()) return {};
  DeviceMetrics common = parts.front();
  for (const DeviceMetrics& part : parts) {
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
