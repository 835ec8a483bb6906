// The classes that the labels of a table are: one for each value that occurs.
#pragma once

#include "core/data/text/text_table.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ptrain {

/// A label as its class is called: a number in its shortest form, so that 1, 01 and 1.0 are one; other labels without
/// blanks around them.
std::string class_name(std::string_view label);

struct LabelClasses {
  std::vector<std::string> names;  // numbers in numeric order, other labels sorted
  std::vector<std::string> notes;  // one line each: what was merged, is easily confused, or is not 0, 1, 2, ...
};

/// The classes of a table's labels. Throws Error{failed} naming data.columns if no label occurs twice in a table of
/// more than a few rows: they are no classes.
LabelClasses collect_classes(const TextTable& table);

/// Finds classes by label.
class ClassFinder {
 public:
  /// `names` in the order of their numbers.
  explicit ClassFinder(const std::vector<std::string>& names);
  /// The class that a label names, written in any way that class_name() takes for the same; none if there is none.
  std::optional<std::int32_t> find(std::string_view label) const;

 private:
  std::unordered_map<std::string, std::int32_t> numbers_;
};

}  // namespace ptrain
