// Reads an image's tf.train.Example. Its three levels of messages are parsed in place from protobuf's wire format
// (https://protobuf.dev/programming-guides/encoding), so that labels are found without reading images.
#pragma once

#include "core/data/shards/byte_source.h"

#include <cstdint>
#include <string>

namespace ptrain {

/// A range of bytes of a source.
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

/// Features: image/encoded or image; image/class/label or label; optional image/class/text, image/filename or
/// file_name. Others are ignored. Throws Error, its message beginning with `place`, when the bytes of `record` are not
/// an Example, or one without an image or a label.
ImageExample parse_image_example(const ByteSource& source, ByteRange record, const std::string& place);

}  // namespace ptrain
