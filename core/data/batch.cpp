#include "core/data/batch.h"

#include "core/data/tensor_names.h"

#include <algorithm>
#include <utility>

namespace ptrain {

Batch::Batch(std::span<const TensorSpec> specs, std::int64_t rows) : rows_(rows) {
  for (const TensorSpec& spec : specs) add(spec);
  if (has(tensor_names::masks)) label_maps.resize(static_cast<std::size_t>(rows));
}

const HostTensor* Batch::find(std::string_view name) const {
  const auto found =
      std::ranges::find(entries_, name, [](const Entry& entry) { return std::string_view(entry.spec.name); });
  return found == entries_.end() ? nullptr : &found->tensor;
}

const HostTensor& Batch::at(std::string_view name) const {
  const HostTensor* const tensor = find(name);
  if (tensor == nullptr) fail("a batch has no tensor {}", name);
  return *tensor;
}

HostTensor& Batch::at(std::string_view name) { return const_cast<HostTensor&>(std::as_const(*this).at(name)); }

HostTensor& Batch::add(TensorSpec spec) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.spec.name == spec.name; });
  HostTensor tensor(spec.dtype, with_rows(rows_, spec.shape));
  return entries_.emplace_back(Entry{std::move(spec), std::move(tensor)}).tensor;
}

HostTensor& Batch::add_common(std::string_view name, DType dtype, const Shape& shape) {
  return common_.emplace_back(Entry{{std::string(name), dtype, shape}, HostTensor(dtype, shape)}).tensor;
}

void Batch::append(const Batch& other) {
  invariant(entries_.size() == other.entries_.size(), "cannot append a batch with different tensors");
  for (Entry& entry : entries_) entry.tensor.append(other.at(entry.spec.name));
  sample_indices.insert(sample_indices.end(), other.sample_indices.begin(), other.sample_indices.end());
  label_maps.insert(label_maps.end(), other.label_maps.begin(), other.label_maps.end());
  rows_ += other.rows_;
  count += other.count;
}

Batch Batch::slice(std::int64_t first, std::int64_t rows) const {
  Batch part;
  part.rows_ = part.count = rows;
  for (const auto& [spec, tensor] : entries_) part.entries_.push_back({spec, tensor.slice(first, rows)});
  part.common_ = common_;
  if (!sample_indices.empty()) {
    part.sample_indices.assign(sample_indices.begin() + first, sample_indices.begin() + first + rows);
  }
  if (!label_maps.empty()) part.label_maps.assign(label_maps.begin() + first, label_maps.begin() + first + rows);
  return part;
}

void Batch::pad(std::int64_t rows) {
  if (rows <= rows_) return;
  for (Entry& entry : entries_) entry.tensor.resize_rows(rows);
  if (!sample_indices.empty()) sample_indices.resize(static_cast<std::size_t>(rows));
  if (!label_maps.empty()) label_maps.resize(static_cast<std::size_t>(rows));
  rows_ = rows;
  fill_padding();
}

void Batch::fill_padding() {
  for (Entry& entry : entries_) {
    entry.tensor.fill_rows(count, entry.spec.fill.value_or(0));
    if (entry.spec.fill || count == 0) continue;
    for (std::int64_t row = count; row < rows_; ++row) entry.tensor.copy_row(0, row);
  }
  if (sample_indices.empty()) return;
  std::fill(sample_indices.begin() + count, sample_indices.end(), -1);
}

void Batch::copy_row(std::int64_t from, std::int64_t to) {
  for (Entry& entry : entries_) entry.tensor.copy_row(from, to);
  if (!sample_indices.empty()) {
    sample_indices[static_cast<std::size_t>(to)] = sample_indices[static_cast<std::size_t>(from)];
  }
  if (!label_maps.empty()) label_maps[static_cast<std::size_t>(to)] = label_maps[static_cast<std::size_t>(from)];
}

ImageSize find_image_size(const Batch& batch) {
  const HostTensor* const images = batch.find(tensor_names::images);
  if (images == nullptr) return {};
  return {images->shape()[-3], images->shape()[-2]};
}

}  // namespace ptrain
