#include "core/runtime/tensors.h"

#include "core/base/errors.h"
#include "core/data/tensor_names.h"
#include "core/io/atomic_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

namespace ptrain {
namespace {

std::int64_t count_rows(const InputTensor& tensor, std::int64_t most) {
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

/// "[2, 17]": the indices of element `index`.
std::string describe_place(std::size_t index, std::span<const std::int64_t> shape) {
  std::vector<std::size_t> place(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    place[axis] = index % static_cast<std::size_t>(shape[axis]);
    index /= static_cast<std::size_t>(shape[axis]);
  }
  return fmt::format("[{}]", fmt::join(place, ", "));
}

/// Copies 8-bit pixels, or pixels scaled to [0, 1].
void copy_pixels(const InputTensor& tensor, std::span<std::uint8_t> pixels) {
  if (tensor.type == DType::u8) {
    std::memcpy(pixels.data(), tensor.data, pixels.size());
    return;
  }
  if (tensor.type != DType::f32) fail_usage("{}: expected u8 or f32, got {}", tensor.name, to_string(tensor.type));
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const auto value = element<float>(tensor, i);
    if (!(value >= 0 && value <= 1)) {
      fail_usage("{}: value {} at {}: expected pixels scaled to [0, 1]", tensor.name, value, i);
    }
    pixels[i] = static_cast<std::uint8_t>(std::lround(value * 255.0f));
  }
}

void copy_numbers(const InputTensor& tensor, std::span<float> numbers) {
  if (tensor.type != DType::f32) fail_usage("{}: expected f32, got {}", tensor.name, to_string(tensor.type));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = element<float>(tensor, i);
    if (!std::isfinite(numbers[i])) {
      fail_usage("{}: value {} at {}: expected finite numbers", tensor.name, numbers[i],
                 describe_place(i, tensor.shape));
    }
  }
}

/// Copies rows of `tensor` to the starts of rows of `integers`, of T, which may be longer; checks least <= value <
/// limit, where there is a limit.
template <typename T>
void copy_integers(const InputTensor& tensor, const TensorSpec& spec, HostTensor& integers) {
  if (tensor.type != DType::i32 && tensor.type != DType::i64) {
    fail_usage("{}: expected i32 or i64, got {}", tensor.name, to_string(tensor.type));
  }
  const std::int64_t row_count =
      std::accumulate(tensor.shape.begin() + 1, tensor.shape.end(), std::int64_t{1}, std::multiplies<std::int64_t>());
  std::size_t i = 0;
  for (std::int64_t row = 0; row < tensor.shape[0]; ++row) {
    const auto to = integers.row<T>(row).first(static_cast<std::size_t>(row_count));
    for (T& integer : to) {
      const std::int64_t value =
          tensor.type == DType::i32 ? std::int64_t{element<std::int32_t>(tensor, i)} : element<std::int64_t>(tensor, i);
      if (spec.limit != 0 && (value < spec.least || value >= spec.limit)) {
        fail_usage("{}: value {} at {}: expected {} to {}", tensor.name, value, describe_place(i, tensor.shape),
                   spec.least, spec.limit - 1);
      }
      integer = static_cast<T>(value);
      ++i;
    }
  }
}

void copy(const InputTensor& tensor, std::span<const std::int64_t> shape, const TensorSpec& spec, HostTensor& to) {
  require_shape(tensor, shape);
  require_data(tensor);
  switch (spec.dtype) {
    case DType::u8:
      return copy_pixels(tensor, to.values<std::uint8_t>());
    case DType::f32:
      return copy_numbers(tensor, to.values<float>());
    case DType::i64:
      return copy_integers<std::int64_t>(tensor, spec, to);
    default:
      return copy_integers<std::int32_t>(tensor, spec, to);
  }
}

std::int32_t count_length(std::span<const std::int32_t> mask, std::size_t row) {
  const auto end = std::find(mask.begin(), mask.end(), 0);
  if (end == mask.begin() || std::find(end, mask.end(), 1) != mask.end()) {
    fail_usage("{}: row {}: expected ones for tokens, at least one, and zeros after them", tensor_names::attention_mask,
               row);
  }
  return static_cast<std::int32_t>(end - mask.begin());
}

/// The shape [rows, S] of `ids`; S is at most the maximum length.
std::vector<std::int64_t> sequence_shape(const InputTensor& ids, std::int64_t rows, std::int64_t longest) {
  if (ids.shape.size() != 2 || ids.shape[1] < 1 || ids.shape[1] > longest) {
    fail_usage("{}: expected shape [{}, S] with S from 1 to {}, got [{}]", ids.name, rows, longest,
               fmt::join(ids.shape, ", "));
  }
  return {ids.shape.begin(), ids.shape.end()};
}

/// Null if there is no tensor of that name.
const InputTensor* find(std::span<const InputTensor> inputs, std::string_view name) {
  const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const InputTensor& t) { return t.name == name; });
  return found == inputs.end() ? nullptr : &*found;
}

/// The first of `known` is required, and those that are not `optional`.
void require_names(std::span<const InputTensor> inputs, std::span<const std::string> known,
                   std::span<const std::string> optional) {
  for (const InputTensor& input : inputs) {
    if (std::find(known.begin(), known.end(), input.name) == known.end()) {
      fail_usage("unknown input {}; expected {}", quoted_name(input.name), fmt::join(known, ", "));
    }
    if (find(inputs, input.name) != &input) fail_usage("{}: was given twice", input.name);
  }
  for (const std::string& name : known) {
    const bool wanted = std::find(optional.begin(), optional.end(), name) == optional.end();
    if (wanted && find(inputs, name) == nullptr) fail_usage("expected an input {}, which is missing", name);
  }
}

bool is_lengths(const TensorSpec& spec) { return spec.name == tensor_names::lengths; }

/// Sets lengths of sequences: the number of ones in the mask, or the full length.
void set_lengths(const InputTensor* mask, std::span<const std::int64_t> shape, Batch& batch) {
  const auto lengths = batch.values<std::int32_t>(tensor_names::lengths);
  std::ranges::fill(lengths, static_cast<std::int32_t>(shape[1]));
  if (mask == nullptr) return;
  const TensorSpec spec{tensor_names::attention_mask, DType::i32, {shape[1]}, 0, 2};
  HostTensor ones(DType::i32, {shape[0], shape[1]});
  copy(*mask, shape, spec, ones);
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    lengths[row] = count_length(ones.row<std::int32_t>(static_cast<std::int64_t>(row)), row);
  }
}

}  // namespace

std::vector<ClientTensor> client_tensors(const DatasetInfo& data) {
  const std::vector<TensorSpec> specs = input_tensors(data);
  const bool sequences = std::ranges::any_of(specs, [](const TensorSpec& spec) { return is_lengths(spec); });
  std::vector<ClientTensor> tensors;
  for (const TensorSpec& spec : specs) {
    ClientTensor& tensor = tensors.emplace_back(ClientTensor{spec.name, spec.dtype, {-1}, spec.limit});
    if (spec.dtype == DType::i32) tensor.type = DType::i64;
    if (is_lengths(spec)) tensor.name = tensor_names::attention_mask, tensor.limit = 2;
    if (sequences) {
      tensor.shape.push_back(-1);
    } else {
      tensor.shape.insert(tensor.shape.end(), spec.shape.dims().begin(), spec.shape.dims().end());
    }
  }
  return tensors;
}

Batch make_batch(const DatasetInfo& data, std::span<const InputTensor> given, std::int64_t most) {
  std::vector<InputTensor> inputs(given.begin(), given.end());
  for (InputTensor& input : inputs) input.name = tensor_names::current_name(input.name);
  const std::vector<std::string> optional{tensor_names::attention_mask, tensor_names::token_types};
  const std::vector<TensorSpec> specs = input_tensors(data);
  std::vector<std::string> names;
  for (const ClientTensor& tensor : client_tensors(data)) names.push_back(tensor.name);
  require_names(inputs, names, optional);
  const InputTensor& first = *find(inputs, names.front());
  Batch batch(specs, count_rows(first, most));
  batch.count = batch.rows();
  const bool sequences = batch.has(tensor_names::lengths);
  std::vector<std::int64_t> shape;
  if (sequences) shape = sequence_shape(first, batch.rows(), data.max_length);
  for (const TensorSpec& spec : specs) {
    const InputTensor* const tensor = find(inputs, spec.name);
    if (tensor == nullptr) continue;
    HostTensor& to = batch.at(spec.name);
    copy(*tensor, sequences ? shape : to.shape().dims(), spec, to);
  }
  if (sequences) set_lengths(find(inputs, tensor_names::attention_mask), shape, batch);
  return batch;
}

}  // namespace ptrain
