#include "core/data/dataset.h"

#include "core/base/hash.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

namespace ptrain {
namespace {

constexpr std::int32_t ignored_label = -1;  // SoftmaxCrossEntropy's
constexpr std::int64_t token_kinds = 2;     // first and second sentence
constexpr std::int32_t no_id = -1;          // EmbeddingBag's

TensorSpec images(const DatasetInfo& data, ImageSize requested) {
  const ImageSize size = requested.value_or(data.image_size);
  const Shape shape =
      data.frames > 0 ? Shape{data.frames, size.height, size.width, 3} : Shape{size.height, size.width, 3};
  return {tensor_names::images, DType::u8, shape, 0, 256};
}

std::vector<TensorSpec> table_tensors(const DatasetInfo& data) {
  std::vector<TensorSpec> specs;
  if (data.dense_features > 0) specs.push_back({tensor_names::dense_features, DType::f32, {data.dense_features}});
  const Shape bags =
      data.bag_size > 0 ? Shape{data.categorical_features, data.bag_size} : Shape{data.categorical_features};
  if (data.dynamic_table) {
    specs.push_back({tensor_names::categorical_features, DType::i64, bags, no_id});
  } else if (data.bag_size > 0) {
    specs.push_back({tensor_names::categorical_features, DType::i32, bags, no_id, data.hash_buckets, no_id});
  } else {
    // Padding refers only to table rows that a sample has too.
    specs.push_back({tensor_names::categorical_features, DType::i32, bags, std::nullopt, data.hash_buckets});
  }
  return specs;
}

}  // namespace

std::vector<TensorSpec> input_tensors(const DatasetInfo& data, ImageSize size) {
  switch (data.kind) {
    case DataKind::image:
      return {images(data, size)};
    case DataKind::table:
      return table_tensors(data);
    case DataKind::text:
    case DataKind::tokens:
      return {{tensor_names::ids, DType::i32, {data.max_length}, 0, data.vocab_size},
              {tensor_names::lengths, DType::i32, {}, 1, data.max_length + 1},
              {tensor_names::token_types, DType::i32, {data.max_length}, 0, token_kinds}};
    case DataKind::parallel:
      return {{tensor_names::ids, DType::i32, {data.max_length}, 0, data.vocab_size},
              {tensor_names::lengths, DType::i32, {}, 1, data.max_length + 1},
              {tensor_names::decoder_ids, DType::i32, {data.max_length}, 0, data.vocab_size},
              {tensor_names::decoder_lengths, DType::i32, {}, 1, data.max_length + 1}};
    case DataKind::video:
      return {{tensor_names::rgb_features, DType::f32, {data.max_frames, rgb_features_per_frame}},
              {tensor_names::audio_features, DType::f32, {data.max_frames, audio_features_per_frame}},
              {tensor_names::frame_mask, DType::f32, {data.max_frames}}};
  }
  return {};
}

std::vector<TensorSpec> target_tensors(const DatasetInfo& data) {
  std::vector<TensorSpec> specs;
  for (const std::string& name : data.targets) {
    if (name == tensor_names::labels) specs.push_back({name, DType::i32, {}, ignored_label, data.classes});
    if (name == tensor_names::multi_hot_labels) specs.push_back({name, DType::i32, {data.classes}, ignored_label, 2});
    if (name == tensor_names::next_tokens) {
      specs.push_back({name, DType::i32, {data.max_length}, ignored_label, data.vocab_size});
    }
    if (name == tensor_names::values) specs.push_back({name, DType::f32, {}, std::numeric_limits<double>::quiet_NaN()});
  }
  return specs;
}

std::uint64_t Dataset::fingerprint() const { return fingerprint_of(std::int64_t{1} << 22); }

std::uint64_t Dataset::fingerprint_of(std::int64_t most_samples) const {
  std::uint64_t hash = fnv1a64(fmt::format("{}", fmt::join(info_.class_names, "\n")));
  const std::int64_t apart = std::max<std::int64_t>(1, (size() + most_samples - 1) / most_samples);
  for (std::int64_t i = 0; i < size(); i += apart) {
    const SampleOrigin from = origin(i);
    const std::string name = std::filesystem::path(from.file).filename().string();
    hash = fnv1a64(fmt::format("{} {} {} {} {} {} {}", label(i), name, from.line.value_or(0), from.record.value_or(0),
                               from.value.value_or(0), from.text, from.second),
                   hash);
  }
  return hash;
}

std::vector<TensorSpec> Dataset::tensors(const ImageForm& form) const {
  std::vector<TensorSpec> all = input_tensors(info_, form.size);
  for (TensorSpec& target : target_tensors(info_)) all.push_back(std::move(target));
  return all;
}

}  // namespace ptrain
