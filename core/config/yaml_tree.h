// The part of YAML that a configuration uses, as a tree with line numbers: mappings, lists and scalars. Anchors,
// aliases, tags, repeated keys, several documents and deep nesting are refused, so that no input costs more than its
// own size.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

struct YamlEntry;

struct YamlValue {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  bool quoted = false;  // a scalar in quotes is text, whatever it looks like
  int line = 0;         // from 1
  std::string text;     // scalar
  std::vector<YamlValue> items;
  std::vector<YamlEntry> entries;
};

struct YamlEntry {
  std::string key;
  int line = 0;
  YamlValue value;
};

/// A mapping's entry; null when it has none of that key.
const YamlEntry* find_entry(const YamlValue& map, std::string_view key);

/// Parses one document whose top is a mapping. `name` stands for the file in messages.
/// Throws Error{usage}: "NAME:LINE: what is wrong".
YamlValue parse_yaml(std::string_view text, std::string_view name);

}  // namespace ptrain
