// Writes messages in protobuf's wire format (https://protobuf.dev/programming-guides/encoding). ONNX needs only three
// kinds of fields, write-only: less code than linking libprotobuf with generated classes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ptrain {

/// One message; fields are written in the order in which they are added.
class ProtoMessage {
 public:
  ProtoMessage& integer(int field, std::int64_t value);
  ProtoMessage& real(int field, float value);
  ProtoMessage& text(int field, std::string_view value);
  ProtoMessage& bytes(int field, std::span<const std::byte> value);
  ProtoMessage& message(int field, const ProtoMessage& value) { return text(field, value.content_); }

  const std::string& content() const { return content_; }

 private:
  enum class Wire { varint = 0, length_delimited = 2, fixed32 = 5 };
  void tag(int field, Wire wire);
  void varint(std::uint64_t value);

  std::string content_;
};

}  // namespace ptrain
