#include "core/runtime/tensors.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ptrain {
namespace {

constexpr std::size_t word_kinds = 2;  // entries of BERT's table of token types

std::int64_t rows_of(const InputTensor& tensor, std::int64_t most) {
  if (tensor.shape.empty() || tensor.shape[0] < 1) fail_usage("{}: is empty: expected at least one input", tensor.name);
  if (tensor.shape[0] > most) fail_usage("{}: {} inputs, expected at most {}", tensor.name, tensor.shape[0], most);
  return tensor.shape[0];
}

void require_shape(const InputTensor& tensor, std::span<const std::int64_t> expected) {
  if (std::equal(tensor.shape.begin(), tensor.shape.end(), expected.begin(), expected.end())) return;
  fail_usage("{}: expected shape [{}], got [{}]", tensor.name, fmt::join(expected, ", "),
             fmt::join(tensor.shape, ", "));
}

template <typename T>
T element(const InputTensor& tensor, std::size_t index) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(tensor.data) + index * sizeof(T), sizeof(T));
  return value;
}

void require_data(const InputTensor& tensor) {
  if (tensor.data == nullptr) fail_usage("{}: its data is a null pointer", tensor.name);
}

std::uint8_t pixel_of(float value, std::size_t index) {
  if (!(value >= 0 && value <= 1)) {
    fail_usage("{}: value {} at {}: expected pixels scaled to [0, 1]", tensor_names::images, value, index);
  }
  return static_cast<std::uint8_t>(std::lround(value * 255.0f));
}

Batch images_of(const DatasetInfo& data, const InputTensor& images, std::int64_t most) {
  Batch batch;
  batch.count = rows_of(images, most);
  const std::int64_t size = data.image_size, shape[] = {batch.count, size, size, 3};
  require_shape(images, shape);
  require_data(images);
  batch.pixels.resize(static_cast<std::size_t>(batch.count * size * size * 3));
  if (images.type == TensorType::u8) {
    std::memcpy(batch.pixels.data(), images.data, batch.pixels.size());
  } else if (images.type == TensorType::f32) {
    for (std::size_t i = 0; i < batch.pixels.size(); ++i) batch.pixels[i] = pixel_of(element<float>(images, i), i);
  } else {
    fail_usage("{}: expected u8 or f32, got {}", images.name, name_of(images.type));
  }
  return batch;
}

std::int64_t integer(const InputTensor& tensor, std::size_t index) {
  return tensor.type == TensorType::i32 ? element<std::int32_t>(tensor, index) : element<std::int64_t>(tensor, index);
}

/// [rows, length] as rows of max_length, zeros behind.
std::vector<std::int32_t> words_of(const InputTensor& tensor, std::span<const std::int64_t> shape,
                                   std::size_t max_length, std::size_t below) {
  require_shape(tensor, shape);
  require_data(tensor);
  if (tensor.type != TensorType::i32 && tensor.type != TensorType::i64) {
    fail_usage("{}: expected i32 or i64, got {}", tensor.name, name_of(tensor.type));
  }
  const auto rows = static_cast<std::size_t>(shape[0]), length = static_cast<std::size_t>(shape[1]);
  std::vector<std::int32_t> words(rows * max_length);
  for (std::size_t i = 0; i < rows * length; ++i) {
    const std::int64_t value = integer(tensor, i);
    if (value < 0 || value >= static_cast<std::int64_t>(below)) {
      fail_usage("{}: value {} at [{}, {}]: expected 0 to {}", tensor.name, value, i / length, i % length, below - 1);
    }
    words[i / length * max_length + i % length] = static_cast<std::int32_t>(value);
  }
  return words;
}

std::int32_t length_of(std::span<const std::int32_t> mask, std::size_t row) {
  const auto end = std::find(mask.begin(), mask.end(), 0);
  if (end == mask.begin() || std::find(end, mask.end(), 1) != mask.end()) {
    fail_usage("{}: row {}: expected ones for tokens, at least one, and zeros behind them", tensor_names::mask, row);
  }
  return static_cast<std::int32_t>(end - mask.begin());
}

Batch texts_of(const DatasetInfo& data, const InputTensor& ids, const InputTensor* mask, const InputTensor* types,
               std::int64_t most) {
  Batch batch;
  batch.count = rows_of(ids, most);
  if (ids.shape.size() != 2 || ids.shape[1] < 1 || ids.shape[1] > data.max_length) {
    fail_usage("{}: expected shape [{}, S] with S from 1 to {}, got [{}]", ids.name, batch.count, data.max_length,
               fmt::join(ids.shape, ", "));
  }
  const auto most_words = static_cast<std::size_t>(data.max_length), rows = static_cast<std::size_t>(batch.count);
  batch.ids = words_of(ids, ids.shape, most_words, static_cast<std::size_t>(data.vocab_size));
  batch.token_types.resize(batch.ids.size());
  if (types != nullptr) batch.token_types = words_of(*types, ids.shape, most_words, word_kinds);
  batch.lengths.assign(rows, static_cast<std::int32_t>(ids.shape[1]));
  if (mask == nullptr) return batch;
  const std::vector<std::int32_t> ones = words_of(*mask, ids.shape, most_words, 2);
  for (std::size_t row = 0; row < rows; ++row) {
    batch.lengths[row] = length_of(std::span(ones).subspan(row * most_words, most_words), row);
  }
  return batch;
}

/// Null where there is none of that name.
const InputTensor* find(std::span<const InputTensor> inputs, std::string_view name) {
  const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const InputTensor& t) { return t.name == name; });
  return found == inputs.end() ? nullptr : &*found;
}

void require_names(std::span<const InputTensor> inputs, std::span<const std::string_view> known) {
  for (const InputTensor& input : inputs) {
    if (std::find(known.begin(), known.end(), input.name) == known.end()) {
      fail_usage("unknown input {}; expected {}", quoted_name(input.name), fmt::join(known, ", "));
    }
    if (find(inputs, input.name) != &input) fail_usage("{}: was given twice", input.name);
  }
  if (find(inputs, known.front()) == nullptr) fail_usage("expected an input {}, which is missing", known.front());
}

}  // namespace

std::string_view name_of(TensorType type) {
  switch (type) {
    case TensorType::u8:
      return "u8";
    case TensorType::i32:
      return "i32";
    case TensorType::i64:
      return "i64";
    case TensorType::f32:
      return "f32";
  }
  return {};
}

Batch batch_of(const DatasetInfo& data, std::span<const InputTensor> inputs, std::int64_t most) {
  constexpr std::string_view of_images[] = {tensor_names::images};
  constexpr std::string_view of_texts[] = {tensor_names::ids, tensor_names::mask, tensor_names::token_types};
  Batch batch;
  if (data.kind == DataKind::image) {
    require_names(inputs, of_images);
    batch = images_of(data, *find(inputs, tensor_names::images), most);
  } else {
    require_names(inputs, of_texts);
    batch = texts_of(data, *find(inputs, tensor_names::ids), find(inputs, tensor_names::mask),
                     find(inputs, tensor_names::token_types), most);
  }
  batch.labels.resize(static_cast<std::size_t>(batch.count));
  return batch;
}

}  // namespace ptrain
