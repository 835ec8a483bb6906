#include "core/deploy/onnx/protobuf.h"

#include <bit>

namespace ptrain {

void ProtoMessage::varint(std::uint64_t value) {
  while (value >= 0x80) {
    content_.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  content_.push_back(static_cast<char>(value));
}

void ProtoMessage::tag(int field, Wire wire) {
  varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire));
}

ProtoMessage& ProtoMessage::integer(int field, std::int64_t value) {
  tag(field, Wire::varint);
  varint(static_cast<std::uint64_t>(value));
  return *this;
}

ProtoMessage& ProtoMessage::real(int field, float value) {
  tag(field, Wire::fixed32);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) content_.push_back(static_cast<char>(bits >> shift));
  return *this;
}

ProtoMessage& ProtoMessage::text(int field, std::string_view value) {
  tag(field, Wire::length_delimited);
  varint(value.size());
  content_.append(value);
  return *this;
}

ProtoMessage& ProtoMessage::bytes(int field, std::span<const std::byte> value) {
  return text(field, {reinterpret_cast<const char*>(value.data()), value.size()});
}

}  // namespace ptrain
