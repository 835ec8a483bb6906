// Samples on their way to a model and back, as named tensors with a row to each.
#pragma once

#include "core/config/image_size.h"
#include "core/data/tensor.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ptrain {

class Batch {
 public:
  struct Entry {
    TensorSpec spec;
    HostTensor tensor;
  };

  Batch() = default;
  /// Zeros for `rows` samples, of which none counts yet.
  Batch(std::span<const TensorSpec> specs, std::int64_t rows);

  std::int64_t epoch = 0;
  std::int64_t index = 0;  // within the epoch
  std::int64_t count = 0;  // rows of samples; 0 is possible on the last batch of an evaluation. Rows behind are padding
  std::vector<std::int64_t> sample_indices;  // [rows], position in the data set; -1 for padding; of others empty

  std::int64_t rows() const { return rows_; }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Null where there is none of that name.
  const HostTensor* find(std::string_view name) const;
  /// Throws Error{failed} where there is none of that name.
  HostTensor& at(std::string_view name);
  const HostTensor& at(std::string_view name) const;
  template <typename T>
  std::span<T> values(std::string_view name) {
    return at(name).values<T>();
  }
  template <typename T>
  std::span<const T> values(std::string_view name) const {
    return at(name).values<T>();
  }
  const std::vector<Entry>& entries() const { return entries_; }

  /// Zeros for one more tensor; in the place of one of its name.
  HostTensor& add(TensorSpec spec);
  /// The same with values [rows, shape]; the first tensor of a batch decides how many rows that is.
  template <typename T>
  void add(std::string_view name, Shape shape, const std::vector<T>& values);
  /// What all rows have in common, which is not padded or joined.
  HostTensor& add_common(std::string_view name, DType dtype, const Shape& shape);
  const std::vector<Entry>& common() const { return common_; }

  /// Adds the rows of `other`, which has the same tensors.
  void append(const Batch& other);
  /// Rows `first` up to `first + rows`, all of which count, of every tensor.
  Batch slice(std::int64_t first, std::int64_t rows) const;
  /// Makes it that many rows; those behind the present ones hold what each tensor's spec says.
  void pad(std::int64_t rows);
  /// Fills the rows from `count` on as the specs say.
  void fill_padding();
  /// Copies row `from` of every tensor, and its index, over row `to`.
  void copy_row(std::int64_t from, std::int64_t to);

 private:
  std::int64_t rows_ = 0;
  std::vector<Entry> entries_, common_;
};

template <typename T>
void Batch::add(std::string_view name, Shape shape, const std::vector<T>& values) {
  if (entries_.empty()) rows_ = static_cast<std::int64_t>(values.size()) / shape.count();
  const auto to = add({std::string(name), dtype_of_type<T>, std::move(shape)}).template values<T>();
  invariant(values.size() == to.size(), "a batch's tensor has values for another number of rows");
  std::copy(values.begin(), values.end(), to.begin());
}

/// The size of the images in it; none is said where it has none.
ImageSize find_image_size(const Batch& batch);

}  // namespace ptrain
