// TFRecord files of images: records of tf.train.Example, each framed by its length and checksums
// (https://www.tensorflow.org/tutorials/load_data/tfrecord).
#pragma once

#include "core/data/shards/shard_index.h"

namespace ptrain {

/// Checks the checksums of all lengths, but of records only where they are not an Example: other records are checked
/// when their image is read. Throws Error with the file's name and the record's byte when one is truncated, damaged, or
/// has no image or label.
ShardIndex index_tf_records(const ByteSource& shard);

/// The encoded image of a record with its frame. Throws BadSample, its message beginning with `place`, when its
/// checksum is wrong.
std::span<const std::uint8_t> image_in_tf_record(std::span<const std::uint8_t> bytes, const std::string& place);

extern const ShardForm tf_record_form;

}  // namespace ptrain
