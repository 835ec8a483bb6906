// Tensors in host memory: samples of a data set, and batches of them.
#pragma once

#include "core/base/dtype.h"
#include "core/base/errors.h"
#include "core/base/shape.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

/// The form of a tensor in one sample.
struct TensorSpec {
  std::string name;  // core/data/tensor_names.h
  DType dtype = DType::f32;
  Shape shape = {};                // of one sample: without the axis of samples
  std::optional<double> fill = 0;  // value of rows without a sample; none: copies the first row
  std::int64_t limit = 0;          // integers are from `least` to below it; 0: any
  std::int64_t least = 0;
};

/// [rows, shape of a sample].
Shape with_rows(std::int64_t rows, const Shape& sample);

/// Dense, with contiguous rows: [rows, shape of a sample].
class HostTensor {
 public:
  HostTensor() = default;
  /// Zeroed.
  HostTensor(DType dtype, Shape shape);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t rows() const { return shape_[0]; }
  std::int64_t row_count() const { return rows() == 0 ? 0 : shape_.count() / rows(); }  // elements of a row

  /// T is the dtype's storage type.
  template <typename T>
  std::span<T> values() {
    require<T>();
    return {reinterpret_cast<T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }
  template <typename T>
  std::span<const T> values() const {
    require<T>();
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }
  template <typename T>
  std::span<T> row(std::int64_t index) {
    return slice_row(values<T>(), index);
  }
  template <typename T>
  std::span<const T> row(std::int64_t index) const {
    return slice_row(values<T>(), index);
  }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<std::byte> writable_bytes() { return bytes_; }

  /// Rows `first` up to `first + rows`.
  HostTensor slice(std::int64_t first, std::int64_t rows) const;
  /// Copies row `from` over row `to`.
  void copy_row(std::int64_t from, std::int64_t to);
  /// New rows are zeroed.
  void resize_rows(std::int64_t rows);
  /// Appends the rows of `other`, which has the same dtype and row shape.
  void append(const HostTensor& other);
  /// Sets every element of the rows from `first` on.
  void fill_rows(std::int64_t first, double value);

 private:
  template <typename T>
  void require() const {
    invariant(dtype_ == dtype_of_type<T>, "a tensor's elements are read as another type");
  }
  template <typename T>
  std::span<T> slice_row(std::span<T> all, std::int64_t index) const {
    const auto each = static_cast<std::size_t>(row_count());
    return all.subspan(static_cast<std::size_t>(index) * each, each);
  }
  std::size_t row_bytes() const { return rows() == 0 ? 0 : bytes_.size() / static_cast<std::size_t>(rows()); }
  void set_rows(std::int64_t rows);

  DType dtype_ = DType::f32;
  Shape shape_{0};
  std::vector<std::byte> bytes_;
};

}  // namespace ptrain
