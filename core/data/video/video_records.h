// Videos as features of their frames in TFRecord files, a tf.train.SequenceExample each, as YouTube-8M has them.
#pragma once

#include "core/data/shards/shard_index.h"

namespace ptrain {

class VideoRecords {
 public:
  /// Reads ids and labels, on all threads. Throws Error as index_shards does, and with file and record where a record
  /// is not a video's or has a label below 0 or above most_classes.
  explicit VideoRecords(std::vector<std::filesystem::path> shards);

  std::int64_t size() const { return static_cast<std::int64_t>(index_.samples.size()); }
  /// The largest label and one more.
  std::int64_t count_classes() const;
  /// Ascending; may be empty.
  const std::vector<std::int32_t>& labels(std::int64_t video) const;
  /// Its file and its number in it, from 0, or "FILE: record NUMBER".
  const std::filesystem::path& file(std::int64_t video) const { return shards_[sample(video).shard]; }
  std::int64_t record(std::int64_t video) const;
  std::string place(std::int64_t video) const;
  /// A hint where files are missing; else empty.
  const std::string& note() const { return note_; }
  /// Changes with the videos, their order and their labels.
  std::uint64_t fingerprint() const;

  /// Reads a video into the row's rgb_features, audio_features and frame_mask, and labels into multi_hot_labels if it
  /// is there, where those of a video without labels are -1. Throws BadSample with file and record, also where a label
  /// is not below the row's classes.
  void load(std::int64_t video, std::vector<std::uint8_t>& bytes, const SampleRow& out) const;

 private:
  const ShardSample& sample(std::int64_t video) const { return index_.samples[static_cast<std::size_t>(video)]; }
  void write_labels(std::int64_t video, std::span<std::int32_t> classes) const;

  std::vector<std::filesystem::path> shards_;
  ShardIndex index_;
  std::vector<std::vector<std::int32_t>> label_sets_;  // by ShardSample::label
  std::vector<std::int64_t> first_;                    // video of each shard
  std::string note_;
};

/// Its index has all labels of a video as one.
extern const ShardForm video_record_form;

}  // namespace ptrain
