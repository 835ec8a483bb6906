// A batch of samples as named tensors with one row per sample, for a model's inputs and outputs.
#pragma once

#include "core/config/image_size.h"
#include "core/data/tensor.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ptrain {

/// The classes of an image's pixels [height, width] at the size of its label map; below 0: none.
struct PixelClasses {
  ImageSize size;
  std::vector<std::int32_t> classes;

  bool empty() const { return classes.empty(); }
};

class Batch {
 public:
  struct Entry {
    TensorSpec spec;
    HostTensor tensor;
  };

  Batch() = default;
  /// Zeroed tensors for `rows` samples; `count` starts at 0.
  Batch(std::span<const TensorSpec> specs, std::int64_t rows);

  std::int64_t epoch = 0;
  std::int64_t index = 0;  // within the epoch
  std::int64_t count = 0;  // number of samples, which come first; may be 0 in the last batch of an evaluation. Other
                           // rows are padding
  std::vector<std::int64_t> sample_indices;  // [rows], position in the data set; -1 for padding; empty for other
                                             // batches
  std::vector<PixelClasses> label_maps;      // [rows] in evaluations with masks, else empty: the labels of images whose
                                             // label map is of another size than their part of the frame

  std::int64_t rows() const { return rows_; }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Null where there is no tensor of that name.
  const HostTensor* find(std::string_view name) const;
  /// Throws Error{failed} where there is no tensor of that name.
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

  /// Adds a zeroed tensor, replacing one of the same name.
  HostTensor& add(TensorSpec spec);
  /// Adds a tensor with values [rows, shape]; the first tensor of a batch determines its number of rows.
  template <typename T>
  void add(std::string_view name, Shape shape, const std::vector<T>& values);
  /// Adds a tensor shared by all rows, which is neither padded nor appended to.
  HostTensor& add_common(std::string_view name, DType dtype, const Shape& shape);
  const std::vector<Entry>& common() const { return common_; }

  /// Appends the rows of `other`, which has the same tensors.
  void append(const Batch& other);
  /// Rows `first` up to `first + rows` of every tensor; all of them count.
  Batch slice(std::int64_t first, std::int64_t rows) const;
  /// Resizes to that many rows; new rows hold the fill value of each tensor's spec.
  void pad(std::int64_t rows);
  /// Fills the rows from `count` on with the specs' values.
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

/// The size of its images; empty if it has none.
ImageSize find_image_size(const Batch& batch);

}  // namespace ptrain
