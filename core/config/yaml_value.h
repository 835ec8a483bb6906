// A YAML document as a tree with line numbers: mappings, lists and scalars.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

struct YamlEntry;

struct YamlValue {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  bool quoted = false;  // a quoted scalar is always text
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

/// A mapping's entry with this key; null: none.
inline const YamlEntry* find_entry(const YamlValue& map, std::string_view key) {
  const auto found = std::ranges::find(map.entries, key, &YamlEntry::key);
  return found == map.entries.end() ? nullptr : &*found;
}

}  // namespace ptrain
