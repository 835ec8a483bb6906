#include "core/data/shards/tf_example.h"

#include "core/base/errors.h"
#include "core/base/utf8.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

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
  std::string text(ByteRange range) const {
    std::string text(range.size(), '\0');
    source_.read(range.begin, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
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

  template <typename... Args>
  [[noreturn]] void reject(fmt::format_string<Args...> format, Args&&... args) const {
    fail("{}: {}", place, fmt::format(format, std::forward<Args>(args)...));
  }
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
    if (!is_known || field_ == 0 || size > end_ - at_) record_.reject("is not a tf.train.Example");
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
      if (at_ == end_) record_.reject("is not a tf.train.Example");
      const std::uint8_t byte = record_.window.at(at_++, end_);
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    record_.reject("is not a tf.train.Example");
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

/// The values of a feature (Feature: bytes_list 1, float_list 2, int64_list 3): the first one and their number.
struct FeatureValues {
  int byte_values = 0;
  ByteRange bytes;
  int integers = 0;
  std::int64_t integer = 0;

  void add_integer(std::uint64_t value) {
    if (integers++ == 0) integer = static_cast<std::int64_t>(value);
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

/// The features of an Example that are used; those with longer names take precedence.
class ImageFeatures {
 public:
  explicit ImageFeatures(Record& record) : record_(record) {}

  /// An entry of Features.feature: key 1, value 2.
  void add(ByteRange entry) {
    std::string key;
    std::optional<ByteRange> value;
    MessageReader fields(record_, entry);
    while (fields.next()) {
      if (fields.holds(1) && fields.content().size() <= longest_text) key = record_.window.text(fields.content());
      if (fields.holds(2)) value = fields.content();
    }
    if (!value) return;
    for (Wanted& wanted : wanted_) {
      if (wanted.name == key) wanted.values = read_feature(record_, *value);
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
    if (label.values->integers != 1) record_.reject("expected one whole number in {}", label.name);
    example.label = label.values->integer;
    example.class_name = read_text(wanted_[class_text]);
    example.file_name = read_text(either(file_name, short_file_name));
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

  /// Empty if absent, or not a text of moderate length.
  std::string read_text(const Wanted& wanted) const {
    if (!wanted.values || wanted.values->byte_values != 1 || wanted.values->bytes.size() > longest_text) return "";
    std::string text = record_.window.text(wanted.values->bytes);
    return is_utf8(text) && text.find('\0') == text.npos ? text : "";
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

}  // namespace

ImageExample parse_image_example(const ByteSource& source, ByteRange record, const std::string& place) {
  Record reader{ByteWindow(source), place};
  ImageFeatures features(reader);
  MessageReader example(reader, record);  // Example: features 1
  while (example.next()) {
    if (!example.holds(1)) continue;
    MessageReader entries(reader, example.content());  // Features: feature 1
    while (entries.next()) {
      if (entries.holds(1)) features.add(entries.content());
    }
  }
  return features.example();
}

}  // namespace ptrain
