#include "core/data/shards/shard_classes.h"

#include "core/data/sources.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

namespace ptrain {
namespace {

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

ShardClasses::ShardClasses(const ShardIndex& training, const DataSettings& settings, const std::string& place)
    : first_(settings.first_label) {
  are_numbers_ = std::all_of(training.labels.begin(), training.labels.end(),
                             [](const ShardLabel& label) { return whole_number(label.text).has_value(); });
  if (are_numbers_) {
    number_from(training, settings, place);
    return;
  }
  if (first_ != 0) {
    fail_usage("data.first_label: {} is for numeric labels, {} has others", first_, place);
  }
  for (const ShardLabel& label : training.labels) names_.push_back(label.text);
  std::sort(names_.begin(), names_.end());
  require_classes(settings, names_, place);
}

void ShardClasses::number_from(const ShardIndex& training, const DataSettings& settings, const std::string& place) {
  std::int64_t lowest = *whole_number(training.labels.front().text), highest = lowest;
  for (const ShardLabel& label : training.labels) {
    lowest = std::min(lowest, *whole_number(label.text));
    highest = std::max(highest, *whole_number(label.text));
  }
  const std::int64_t found = std::clamp<std::int64_t>(highest, first_, first_ + most_classes - 1) - first_ + 1;
  names_ = numbered_classes(settings.classes > 0 ? settings.classes : static_cast<int>(found));
  if (first_ == 0 && lowest == 1) {
    note_ = fmt::format("{}: labels are 1 to {}; data.first_label 1 would make 1 the first class", place, highest);
  }
  std::vector<std::string> named(names_.size());
  std::set<std::string> different;
  for (const ShardLabel& label : training.labels) {
    const std::int64_t number = *whole_number(label.text) - first_;
    if (number < 0 || number >= static_cast<std::int64_t>(named.size())) continue;
    named[static_cast<std::size_t>(number)] = label.class_name;
    if (!label.class_name.empty()) different.insert(label.class_name);
  }
  if (different.size() == named.size()) names_ = std::move(named);
}

std::int32_t ShardClasses::class_index(const ShardLabel& label, const std::string& place) const {
  if (!are_numbers_) {
    const auto found = std::lower_bound(names_.begin(), names_.end(), label.text);
    if (found != names_.end() && *found == label.text) return static_cast<std::int32_t>(found - names_.begin());
    fail("{}: class {} does not occur in the training split", place, quoted_name(label.text));
  }
  const std::optional<std::int64_t> value = whole_number(label.text);
  const auto classes = static_cast<std::int64_t>(names_.size());
  if (!value) fail("{}: label {} is not a number, unlike those of the training split", place, quoted_name(label.text));
  if (*value < first_ || *value >= first_ + classes) {
    fail("{}: label {} is out of range: expected {} to {}, by {} classes (model.classes) from data.first_label {} on",
         place, *value, first_, first_ + classes - 1, classes, first_);
  }
  return static_cast<std::int32_t>(*value - first_);
}

}  // namespace ptrain
