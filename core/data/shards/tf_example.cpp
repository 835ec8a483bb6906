#include "core/data/shards/tf_example.h"

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/data/dataset.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace ptrain {
namespace {

/// Reads single bytes of a source with some read-ahead.
class ByteWindow {
 public:
  explicit ByteWindow(const ByteSource& source) : source_(source) {}

  /// `position` is before `end`, the limit of the read-ahead.
  std::uint8_t at(std::uint64_t position, std::uint64_t end) {
    if (position < begin_ || position >= begin_ + size_) {
      begin_ = position;
      size_ = std::min<std::uint64_t>(bytes_.size(), end - position);
      source_.read(begin_, std::span(bytes_).first(size_));
    }
    return bytes_[position - begin_];
  }
  void read(ByteRange range, std::span<std::uint8_t> out) const { source_.read(range.begin, out); }
  std::string text(ByteRange range) const {
    std::string text(range.size(), '\0');
    read(range, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
    return text;
  }

 private:
  const ByteSource& source_;
  std::array<std::uint8_t, 256> bytes_{};
  std::uint64_t begin_ = 0;
  std::uint64_t size_ = 0;
};

/// Shared by the readers of every level of a record.
struct Record {
  ByteWindow window;
  const std::string& place;
  std::string_view message;  // that it should be

  template <typename... Args>
  [[noreturn]] void reject(fmt::format_string<Args...> format, Args&&... args) const {
    fail("{}: {}", place, fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void reject_form() const { reject("is not a {}", message); }
};

/// The fields of one message, in order.
class MessageReader {
 public:
  static constexpr int varint = 0, fixed64 = 1, length_delimited = 2, fixed32 = 5;  // wire types

  MessageReader(Record& record, ByteRange message) : record_(record), at_(message.begin), end_(message.end) {}

  /// Moves to the next field; false at the end.
  bool next() {
    if (at_ == end_) return false;
    const std::uint64_t tag = read_varint();
    field_ = tag >> 3;
    wire_ = static_cast<int>(tag & 7);
    std::uint64_t size = 0;
    if (wire_ == varint) {
      value_ = read_varint();
    } else if (wire_ == fixed64 || wire_ == fixed32) {
      size = wire_ == fixed64 ? 8 : 4;
    } else if (wire_ == length_delimited) {
      size = read_varint();
    }
    const bool is_known = wire_ == varint || wire_ == fixed64 || wire_ == length_delimited || wire_ == fixed32;
    if (!is_known || field_ == 0 || size > end_ - at_) record_.reject_form();
    content_ = {at_, at_ + size};
    at_ += size;
    return true;
  }

  /// Whether the field has that number and is a message or bytes.
  bool holds(std::uint64_t field) const { return field_ == field && wire_ == length_delimited; }
  bool is_integer(std::uint64_t field) const { return field_ == field && wire_ == varint; }
  ByteRange content() const { return content_; }
  std::uint64_t value() const { return value_; }
  bool done() const { return at_ == end_; }

  std::uint64_t read_varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ == end_) record_.reject_form();
      const std::uint8_t byte = record_.window.at(at_++, end_);
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    record_.reject_form();
  }

 private:
  Record& record_;
  std::uint64_t at_;
  std::uint64_t end_;
  std::uint64_t field_ = 0;
  std::uint64_t value_ = 0;
  ByteRange content_;
  int wire_ = 0;
};

constexpr std::uint64_t longest_text = 1024;  // bytes in the name of a feature, a class or a file
constexpr std::size_t most_integers = 4096;   // of a feature that are kept, and one more

/// The values of a feature (Feature: bytes_list 1, float_list 2, int64_list 3): the first text and the number of texts,
/// and integers.
struct FeatureValues {
  int byte_values = 0;
  ByteRange bytes;
  std::vector<std::int64_t> integers;

  void add_integer(std::uint64_t value) {
    if (integers.size() <= most_integers) integers.push_back(static_cast<std::int64_t>(value));
  }
};

FeatureValues read_feature(Record& record, ByteRange feature) {
  FeatureValues values;
  MessageReader kinds(record, feature);
  while (kinds.next()) {
    MessageReader list(record, kinds.content());
    if (kinds.holds(1)) {
      while (list.next()) {
        if (list.holds(1) && values.byte_values++ == 0) values.bytes = list.content();
      }
    } else if (kinds.holds(3)) {
      while (list.next()) {
        if (list.is_integer(1)) values.add_integer(list.value());
        if (!list.holds(1)) continue;
        for (MessageReader packed(record, list.content()); !packed.done();) values.add_integer(packed.read_varint());
      }
    }
  }
  return values;
}

/// An entry of a map: its key, empty if it is too long, and its value, a message.
struct MapEntry {
  std::string key;
  std::optional<ByteRange> value;
};

MapEntry read_entry(Record& record, ByteRange entry) {
  MapEntry read;
  MessageReader fields(record, entry);
  while (fields.next()) {
    if (fields.holds(1) && fields.content().size() <= longest_text) read.key = record.window.text(fields.content());
    if (fields.holds(2)) read.value = fields.content();
  }
  return read;
}

/// Calls visit(key, value) for each entry of the maps in the fields of number `field`: of Example and SequenceExample
/// the features in field 1, of the latter the feature lists in field 2.
template <typename Visit>
void visit_map(Record& record, ByteRange message, std::uint64_t field, const Visit& visit) {
  MessageReader fields(record, message);
  while (fields.next()) {
    if (!fields.holds(field)) continue;
    MessageReader entries(record, fields.content());
    while (entries.next()) {
      if (!entries.holds(1)) continue;
      if (const auto [key, value] = read_entry(record, entries.content()); value) visit(key, *value);
    }
  }
}

/// Empty if absent, or not a text of moderate length.
std::string read_text(const Record& record, const std::optional<FeatureValues>& values) {
  if (!values || values->byte_values != 1 || values->bytes.size() > longest_text) return "";
  std::string text = record.window.text(values->bytes);
  return is_utf8(text) && text.find('\0') == text.npos ? text : "";
}

/// The features of an Example that are used; those with longer names take precedence.
class ImageFeatures {
 public:
  explicit ImageFeatures(Record& record) : record_(record) {}

  void add(std::string_view name, ByteRange feature) {
    for (Wanted& wanted : wanted_) {
      if (wanted.name == name) wanted.values = read_feature(record_, feature);
    }
  }

  ImageExample example() const {
    ImageExample example;
    const Wanted& image = either(encoded, short_image);
    if (!image.values) record_.reject("has no image: expected a feature image/encoded or image");
    if (image.values->byte_values != 1 || image.values->bytes.size() == 0) {
      record_.reject("expected one encoded image in {}", image.name);
    }
    example.image = image.values->bytes;
    const Wanted& label = either(class_label, short_label);
    if (!label.values) record_.reject("has no label: expected a feature image/class/label or label");
    if (label.values->integers.size() != 1) record_.reject("expected one whole number in {}", label.name);
    example.label = label.values->integers.front();
    example.class_name = read_text(record_, wanted_[class_text].values);
    example.file_name = read_text(record_, either(file_name, short_file_name).values);
    return example;
  }

 private:
  enum Name { encoded, short_image, class_label, short_label, class_text, file_name, short_file_name };
  struct Wanted {
    std::string_view name;
    std::optional<FeatureValues> values = {};
  };

  const Wanted& either(Name first, Name second) const {
    return wanted_[first].values || !wanted_[second].values ? wanted_[first] : wanted_[second];
  }

  Record& record_;
  std::array<Wanted, 7> wanted_{{{"image/encoded"},
                                 {"image"},
                                 {"image/class/label"},
                                 {"label"},
                                 {"image/class/text"},
                                 {"image/filename"},
                                 {"file_name"}}};
};

/// Zeroes the rows of `width` from `first` on.
void clear_rows(std::span<float> rows, std::int64_t first, std::int64_t width) {
  const auto begin = static_cast<std::size_t>(first * width);
  if (begin < rows.size()) std::ranges::fill(rows.subspan(begin), 0.0f);
}

/// Reads a list of frames' features, each of `width` bytes, into rows of `out`; those that `out` has no row for are
/// only checked. The number of frames.
std::int64_t read_frames(Record& record, ByteRange list, std::string_view name, std::int64_t width,
                         std::span<float> out) {
  const auto each = static_cast<std::size_t>(width);
  std::vector<std::uint8_t> bytes(each);
  std::int64_t frames = 0;
  MessageReader features(record, list);
  while (features.next()) {
    if (!features.holds(1)) continue;
    const FeatureValues frame = read_feature(record, features.content());
    if (frame.byte_values != 1 || frame.bytes.size() != each) {
      record.reject("frame {} of {}: expected one value of {} bytes, got {} of {}", frames, name, width,
                    frame.byte_values, frame.bytes.size());
    }
    if (const auto begin = static_cast<std::size_t>(frames++) * each; begin < out.size()) {
      record.window.read(frame.bytes, bytes);
      std::ranges::transform(bytes, out.begin() + static_cast<std::ptrdiff_t>(begin), dequantize_feature);
    }
  }
  return frames;
}

}  // namespace

ImageExample parse_image_example(const ByteSource& source, ByteRange record, const std::string& place) {
  Record reader{ByteWindow(source), place, "tf.train.Example"};
  ImageFeatures features(reader);
  visit_map(reader, record, 1, [&](const std::string& name, ByteRange feature) { features.add(name, feature); });
  return features.example();
}

VideoExample parse_video_example(const ByteSource& source, ByteRange record, const std::string& place) {
  Record reader{ByteWindow(source), place, "tf.train.SequenceExample"};
  std::optional<FeatureValues> id, labels;
  visit_map(reader, record, 1, [&](const std::string& name, ByteRange feature) {
    if (name == "id" || name == "video_id") id = read_feature(reader, feature);
    if (name == "labels") labels = read_feature(reader, feature);
  });
  VideoExample video{.id = read_text(reader, id), .labels = {}};
  if (video.id.empty()) reader.reject("has no id: expected a text in the context's feature id");
  if (!labels) return video;
  video.labels = std::move(labels->integers);
  if (video.labels.size() > most_integers) reader.reject("has more than {} labels", most_integers);
  return video;
}

std::int64_t read_video_frames(const ByteSource& source, ByteRange record, const std::string& place,
                               std::span<float> rgb, std::span<float> audio) {
  Record reader{ByteWindow(source), place, "tf.train.SequenceExample"};
  std::int64_t rgb_frames = 0, audio_frames = 0;
  visit_map(reader, record, 2, [&](const std::string& name, ByteRange list) {
    if (name == "rgb") rgb_frames = read_frames(reader, list, name, rgb_features_per_frame, rgb);
    if (name == "audio") audio_frames = read_frames(reader, list, name, audio_features_per_frame, audio);
  });
  if (rgb_frames == 0) reader.reject("has no frames: expected a feature list rgb");
  if (rgb_frames != audio_frames) {
    reader.reject("expected as many frames of audio as of rgb, got {} and {}", audio_frames, rgb_frames);
  }
  clear_rows(rgb, rgb_frames, rgb_features_per_frame);
  clear_rows(audio, audio_frames, audio_features_per_frame);
  return rgb_frames;
}

}  // namespace ptrain
