// Writes messages in protobuf's wire format (https://protobuf.dev/programming-guides/encoding). What ONNX needs of it
// is three kinds of fields, and nothing is ever read back: less than linking libprotobuf and generating code would
// take.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ptrain {

/// One message; its fields stand in the order in which they are added.
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
