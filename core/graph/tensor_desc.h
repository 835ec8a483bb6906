// Element type and shape of a tensor. Data is always dense, last axis fastest.
#pragma once

#include "core/base/dtype.h"
#include "core/base/shape.h"

namespace ptrain {

struct TensorDesc {
  DType dtype = DType::f32;
  Shape shape;

  std::int64_t count() const { return shape.count(); }
  std::size_t bytes() const { return static_cast<std::size_t>(count()) * element_size(dtype); }
  bool operator==(const TensorDesc&) const = default;
  /// "bf16[8,56,56,64]"
  std::string to_string() const { return std::string(ptrain::to_string(dtype)) + shape.to_string(); }
};

}  // namespace ptrain
