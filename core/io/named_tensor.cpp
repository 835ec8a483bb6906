#include "core/io/named_tensor.h"

#include "core/base/errors.h"
#include "core/base/parallel.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace ptrain {

namespace {

constexpr std::string_view f64 = "F64";

template <typename Element>
void convert(const NamedTensor& tensor, std::span<float> out) {
  parallel_for(std::ssize(out), 1 << 15, [&](std::int64_t begin, std::int64_t end) {
    const std::byte* source = tensor.bytes.data() + static_cast<std::size_t>(begin) * sizeof(Element);
    for (float& value : out.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin))) {
      Element element;
      std::memcpy(&element, source, sizeof element);
      value = static_cast<float>(element);
      source += sizeof element;
    }
  });
}

/// Puts each head's rows, of floats or of bytes, in order.
template <typename Element>
void deinterleave_heads(const NamedTensor& tensor, std::span<Element> values) {
  if (tensor.interleaved_heads == 0) return;
  const std::int64_t rows = tensor.shape.rank() == 0 ? 0 : tensor.shape[0], heads = tensor.interleaved_heads;
  if (rows == 0 || rows % (2 * heads) != 0) {
    fail("tensor {} has shape {}, expected rows of {} heads of an even width", quoted_name(tensor.name),
         tensor.shape.to_string(), heads);
  }
  const auto width = static_cast<std::ptrdiff_t>(values.size()) / rows, half = rows / heads / 2;
  const std::vector<Element> file(values.begin(), values.end());
  for (std::ptrdiff_t row = 0; row < rows; ++row) {
    const std::ptrdiff_t head = row / (2 * half), in_head = row % (2 * half);
    const std::ptrdiff_t to = head * 2 * half + in_head % 2 * half + in_head / 2;
    std::copy_n(file.begin() + row * width, width, values.begin() + to * width);
  }
}

}  // namespace

bool holds_floats(const NamedTensor& tensor) {
  if (tensor.other_type.empty()) return is_floating(tensor.dtype);
  return tensor.other_type == f64 || find_block_format(tensor).has_value();
}

void read_floats(const NamedTensor& tensor, std::span<float> out) {
  if (!holds_floats(tensor))
    fail("tensor {} is {}, expected f32, bf16 or f16", quoted_name(tensor.name),
         tensor.other_type.empty() ? to_string(tensor.dtype) : tensor.other_type);
  if (static_cast<std::int64_t>(out.size()) != tensor.shape.count())
    fail("tensor {} has shape {}, expected {} elements", quoted_name(tensor.name), tensor.shape.to_string(),
         out.size());
  if (const auto format = find_block_format(tensor)) {
    dequantize_blocks(*format, tensor.bytes, out);
  } else if (tensor.other_type == f64) {
    convert<double>(tensor, out);
  } else {
    visit_floating(tensor.dtype, [&](auto zero) { convert<decltype(zero)>(tensor, out); });
  }
  deinterleave_heads(tensor, out);
}

std::vector<float> to_floats(const NamedTensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.shape.count()));
  read_floats(tensor, values);
  return values;
}

std::optional<BlockFormat> find_block_format(const NamedTensor& tensor) { return find_block_format(tensor.other_type); }

std::optional<BlockFormat> find_block_format(std::string_view gguf_type) {
  std::string name(gguf_type);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return choice_from_name<BlockFormat>(name);
}

std::vector<std::byte> copy_blocks(const NamedTensor& tensor) {
  std::vector<std::byte> blocks(tensor.bytes.begin(), tensor.bytes.end());
  deinterleave_heads(tensor, std::span(blocks));
  return blocks;
}

}  // namespace ptrain
