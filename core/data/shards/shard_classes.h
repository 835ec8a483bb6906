// From labels as shards have them to classes and their numbers.
#pragma once

#include "core/data/factory.h"
#include "core/data/shards/shard_index.h"

namespace ptrain {

/// Classes as the training shards' labels say: where all are whole numbers, data.first_label's and those after it; else
/// the labels sorted.
class ShardClasses {
 public:
  /// Throws Error{usage} where the settings ask for another number of classes; `place` names the training shards.
  ShardClasses(const ShardIndex& training, const DataSettings& settings, const std::string& place);

  const std::vector<std::string>& names() const { return names_; }
  /// Throws Error, its message opened by `place`, when it is none of them.
  std::int32_t class_index(const ShardLabel& label, const std::string& place) const;
  /// A line for whoever may have forgotten data.first_label; empty for others.
  const std::string& note() const { return note_; }

 private:
  void number_from(const ShardIndex& training, const DataSettings& settings, const std::string& place);

  bool are_numbers_ = false;
  std::int64_t first_;
  std::vector<std::string> names_;
  std::string note_;
};

}  // namespace ptrain
