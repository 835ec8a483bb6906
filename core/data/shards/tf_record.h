// TFRecord files: records, each framed by its length and checksums
// (https://www.tensorflow.org/tutorials/load_data/tfrecord); and those whose records are images, as tf.train.Example.
#pragma once

#include "core/data/shards/shard_index.h"
#include "core/data/shards/tf_example.h"

#include <functional>

namespace ptrain {

/// Whether a file's name is "x.tfrecord", "x.tfrecords", "x.tfrec", or like "train-00000-of-01024" with or without
/// them.
bool is_tf_record(std::string_view name);
/// Whether it is such a name with the suffix of a compressed file.
bool is_compressed_tf_record(std::string_view name);

struct TfRecord {
  std::uint64_t offset = 0;  // in its file, of its frame
  std::uint64_t length = 0;  // with its frame
  ByteRange content;
};
/// `place` names file and record, the first being 0.
using VisitTfRecord = std::function<void(const TfRecord& record, const std::string& place)>;

/// Visits each record. Checks the checksums of all lengths, but of records only where the visit throws Error. Throws
/// Error with the file's name and the record when one is truncated or damaged, and what the visit throws.
void read_tf_records(const ByteSource& shard, const VisitTfRecord& visit);
/// The content of a record with its frame. Throws BadSample, its message beginning with `place`, when its checksum is
/// wrong.
ByteRange find_tf_record_content(std::span<const std::uint8_t> bytes, const std::string& place);

/// Checks the checksums of all lengths, but of records only where they are not an Example: other records are checked
/// when their image is read. Throws Error with the file's name and the record's byte when one is truncated, damaged, or
/// has no image or label.
ShardIndex index_tf_records(const ByteSource& shard);

/// The encoded image of a record with its frame. Throws BadSample, its message beginning with `place`, when its
/// checksum is wrong.
std::span<const std::uint8_t> image_in_tf_record(std::span<const std::uint8_t> bytes, const std::string& place);

extern const ShardForm tf_record_form;

}  // namespace ptrain
