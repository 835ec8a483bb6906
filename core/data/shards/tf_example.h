// What tf.train.Example says of an image. Its three levels of messages are read from protobuf's wire format
// (https://protobuf.dev/programming-guides/encoding) where they lie, so that no image is read to find its label.
#pragma once

#include "core/data/shards/byte_source.h"

#include <cstdint>
#include <string>

namespace ptrain {

/// Bytes of a source.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t size() const { return end - begin; }
};

struct ImageExample {
  ByteRange image;  // encoded
  std::int64_t label = 0;
  std::string class_name;  // empty where there is none
  std::string file_name;   // likewise
};

/// Features: image/encoded or image; image/class/label or label; image/class/text, image/filename or file_name where
/// they are. Others are passed over. Throws Error, its message opened by `place`, when the bytes of `record` are no
/// Example, or one without an image or a label.
ImageExample parse_image_example(const ByteSource& source, ByteRange record, const std::string& place);

}  // namespace ptrain
