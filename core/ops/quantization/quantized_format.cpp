#include "core/ops/quantization/quantized_format.h"

#include <fmt/format.h>

namespace ptrain {

std::string QuantizedFormat::to_string() const { return fmt::format("{}*{:.6g}", ptrain::to_string(dtype), scale); }

}  // namespace ptrain
