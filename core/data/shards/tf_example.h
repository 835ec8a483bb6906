// Reads an image's tf.train.Example and a video's tf.train.SequenceExample. Their levels of messages are parsed in
// place from protobuf's wire format (https://protobuf.dev/programming-guides/encoding), so that labels are found
// without reading images.
#pragma once

#include "core/data/shards/byte_source.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

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

/// The context of a video's record.
struct VideoExample {
  std::string id;
  std::vector<std::int64_t> labels;  // as in the record; may be empty
};

/// Context: id or video_id, and labels (YouTube-8M's; https://research.google.com/youtube8m/download.html). The frames
/// are not read. Throws Error, its message beginning with `place`, when the bytes of `record` are not a
/// SequenceExample, or one without an id.
VideoExample parse_video_example(const ByteSource& source, ByteRange record, const std::string& place);

/// A byte of a feature as the number in [-2, 2] that it stands for (YouTube-8M's Dequantize).
inline float dequantize_feature(std::uint8_t byte) {
  constexpr float range = 4;
  return static_cast<float>(byte) * (range / 255) + (range / 512 - 2);
}

/// Reads the feature lists rgb (1024 bytes a frame) and audio (128 bytes), dequantized, into the rows of `rgb` and
/// `audio` for the first frames; rows without a frame are zero. Returns the number of frames, which may be more. Throws
/// as parse_video_example does, and when a frame has another number of bytes, there is none, or the two lists differ in
/// it.
std::int64_t read_video_frames(const ByteSource& source, ByteRange record, const std::string& place,
                               std::span<float> rgb, std::span<float> audio);

}  // namespace ptrain
