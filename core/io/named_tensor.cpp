#include "core/io/named_tensor.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

#include <cstring>

namespace ptrain {

void read_floats(const NamedTensor& tensor, std::span<float> out) {
  const bool is_f64 = tensor.other_type == "F64";
  if (!is_f64 && (!tensor.other_type.empty() || !is_floating(tensor.dtype)))
    fail("tensor {} is {}, expected f32, bf16 or f16", quoted_name(tensor.name),
         tensor.other_type.empty() ? to_string(tensor.dtype) : tensor.other_type);
  if (static_cast<std::int64_t>(out.size()) != tensor.shape.count())
    fail("tensor {} has shape {}, expected {} elements", quoted_name(tensor.name), tensor.shape.to_string(),
         out.size());
  const auto convert = [&](auto element) {
    const std::byte* source = tensor.bytes.data();
    for (float& value : out) {
      std::memcpy(&element, source, sizeof element);
      value = static_cast<float>(element);
      source += sizeof element;
    }
  };
  if (is_f64) {
    convert(double{});
  } else {
    visit_floating(tensor.dtype, convert);
  }
}

std::vector<float> to_floats(const NamedTensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.shape.count()));
  read_floats(tensor, values);
  return values;
}

}  // namespace ptrain
