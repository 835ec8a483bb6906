// Maps the labels of shards to classes and their numbers.
#pragma once

#include "core/data/factory.h"
#include "core/data/shards/shard_index.h"

namespace ptrain {

/// The classes of the training shards: for whole-number labels, data.first_label and the numbers after it; else the
/// sorted labels.
class ShardClasses {
 public:
  /// Throws Error{usage} if the settings require another number of classes; `place` names the training shards.
  ShardClasses(const ShardIndex& training, const DataSettings& settings, const std::string& place);

  const std::vector<std::string>& names() const { return names_; }
  /// Throws Error, its message beginning with `place`, for an unknown label.
  std::int32_t class_index(const ShardLabel& label, const std::string& place) const;
  /// A hint for users who may have forgotten data.first_label; else empty.
  const std::string& note() const { return note_; }

 private:
  void number_from(const ShardIndex& training, const DataSettings& settings, const std::string& place);

  bool are_numbers_ = false;
  std::int64_t first_;
  std::vector<std::string> names_;
  std::string note_;
};

}  // namespace ptrain
