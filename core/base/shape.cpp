#include "core/base/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ptrain {

std::string Shape::to_string() const { return fmt::format("[{}]", fmt::join(dims_, ",")); }

}  // namespace ptrain
