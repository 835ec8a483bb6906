#include "core/data/tensor.h"

#include <algorithm>
#include <cstring>

namespace ptrain {
namespace {

template <typename T>
void fill(std::span<T> values, double value) {
  std::fill(values.begin(), values.end(), static_cast<T>(static_cast<float>(value)));
}

}  // namespace

Shape with_rows(std::int64_t rows, const Shape& sample) {
  std::vector<std::int64_t> dims{rows};
  dims.insert(dims.end(), sample.dims().begin(), sample.dims().end());
  return Shape(std::move(dims));
}

HostTensor::HostTensor(DType dtype, Shape shape)
    : dtype_(dtype), shape_(std::move(shape)), bytes_(static_cast<std::size_t>(shape_.count()) * element_size(dtype)) {}

void HostTensor::set_rows(std::int64_t rows) {
  std::vector<std::int64_t> dims = shape_.dims();
  dims.front() = rows;
  shape_ = Shape(std::move(dims));
}

HostTensor HostTensor::slice(std::int64_t first, std::int64_t rows) const {
  HostTensor part;
  part.dtype_ = dtype_;
  part.shape_ = shape_;
  const auto each = static_cast<std::ptrdiff_t>(row_bytes());
  part.bytes_.assign(bytes_.begin() + first * each, bytes_.begin() + (first + rows) * each);
  part.set_rows(rows);
  return part;
}

void HostTensor::copy_row(std::int64_t from, std::int64_t to) {
  const std::size_t each = row_bytes();
  if (from == to || each == 0) return;
  std::memcpy(bytes_.data() + static_cast<std::size_t>(to) * each,
              bytes_.data() + static_cast<std::size_t>(from) * each, each);
}

void HostTensor::resize_rows(std::int64_t rows) {
  std::size_t each = element_size(dtype_);
  for (int axis = 1; axis < shape_.rank(); ++axis) each *= static_cast<std::size_t>(shape_[axis]);
  bytes_.resize(static_cast<std::size_t>(rows) * each);
  set_rows(rows);
}

void HostTensor::append(const HostTensor& other) {
  invariant(dtype_ == other.dtype_ && row_count() == other.row_count(), "cannot append rows of another shape or type");
  bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
  set_rows(rows() + other.rows());
}

void HostTensor::fill_rows(std::int64_t first, double value) {
  const auto from = static_cast<std::size_t>(first * row_count());
  switch (dtype_) {
    case DType::f32:
      return fill(values<float>().subspan(from), value);
    case DType::bf16:
      return fill(values<bf16>().subspan(from), value);
    case DType::f16:
      return fill(values<f16>().subspan(from), value);
    case DType::i64:
      return fill(values<std::int64_t>().subspan(from), value);
    case DType::i32:
      return fill(values<std::int32_t>().subspan(from), value);
    case DType::u8:
      return fill(values<std::uint8_t>().subspan(from), value);
    case DType::s8:
      return fill(values<std::int8_t>().subspan(from), value);
  }
}

}  // namespace ptrain
