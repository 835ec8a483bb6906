// What readers of YAML documents besides configurations share: values of the kind that a key wants, or a line that says
// where another stands and what was expected.
#pragma once

#include "core/yaml/yaml_tree.h"

#include <cstdint>

namespace ptrain {

/// `section` is what stands before a key in messages: "steady." for most_warmup_steps there. Every function throws
/// Error{usage}.
class YamlReader {
 public:
  /// `file` stands before lines; `document` is what unknown keys are keys of: "a suite".
  YamlReader(std::string file, std::string document) : file_(std::move(file)), document_(std::move(document)) {}

  const std::string& file() const { return file_; }
  /// "FILE:LINE".
  std::string at(int line) const;
  [[noreturn]] void reject(const YamlEntry& entry, std::string_view section, std::string_view expected) const;
  /// Names the nearest of those that are known.
  [[noreturn]] void refuse_unknown(const YamlEntry& entry, std::string_view section,
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
