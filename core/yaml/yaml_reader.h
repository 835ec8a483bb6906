// Base class for readers of YAML documents other than configurations: returns values of the type that a key requires,
// or fails with a line that says what was expected.
#pragma once

#include "core/yaml/yaml_tree.h"

#include <cstdint>

namespace ptrain {

/// `section` precedes a key in messages: "steady." for its most_warmup_steps. Every function throws Error{usage}.
class YamlReader {
 public:
  /// `file` precedes line numbers; `document` names what was read, for unknown keys: "a suite".
  YamlReader(std::string file, std::string document) : file_(std::move(file)), document_(std::move(document)) {}

  const std::string& file() const { return file_; }
  /// "FILE:LINE".
  std::string at(int line) const;
  [[noreturn]] void reject(const YamlEntry& entry, std::string_view section, std::string_view expected) const;
  /// Suggests the nearest known key.
  [[noreturn]] void reject_unknown(const YamlEntry& entry, std::string_view section,
                                   const std::vector<std::string>& known) const;

  /// Not empty.
  const std::string& as_text(const YamlEntry& entry, std::string_view section = "") const;
  /// From low to high, both included.
  double as_number(const YamlEntry& entry, double low, double high, std::string_view section = "") const;
  std::int64_t as_integer(const YamlEntry& entry, double low, double high, std::string_view section = "") const;
  bool as_bool(const YamlEntry& entry, std::string_view section = "") const;
  const std::vector<YamlEntry>& as_map(const YamlEntry& entry, std::string_view section = "") const;
  /// Not empty.
  const std::vector<YamlValue>& as_list(const YamlEntry& entry, std::string_view section,
                                        std::string_view expected) const;

 private:
  std::string file_, document_;
};

}  // namespace ptrain
