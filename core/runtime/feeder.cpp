#include "core/runtime/feeder.h"

#include "core/base/errors.h"
#include "core/data/image/framing.h"
#include "core/data/tensor_names.h"
#include "core/ops/softmax_cross_entropy.h"
#include "core/passes/delay_updates.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

namespace ptrain {
namespace {

using Tokens = std::span<const std::int32_t>;

void write(Plan& plan, const char* input, Tokens values) {
  plan.write_input(input, values.data(), values.size_bytes());
}

/// The valid tokens of `rows` [N,S], concatenated and padded with `fill` to `capacity`.
std::vector<std::int32_t> packed(Tokens rows, Tokens lengths, std::size_t capacity, std::int32_t fill) {
  const auto stride = static_cast<std::ptrdiff_t>(rows.size() / lengths.size());
  std::vector<std::int32_t> tokens;
  tokens.reserve(capacity);
  auto row = rows.begin();
  for (const std::int32_t length : lengths) {
    tokens.insert(tokens.end(), row, row + length);
    row += stride;
  }
  invariant(tokens.size() <= capacity, "a batch has more tokens than its plan's capacity");
  tokens.resize(capacity, fill);
  return tokens;
}

/// An input with a value for each token, and its value for tokens of no sequence.
struct TokenInput {
  const char* name;
  std::int32_t fill;
};
constexpr std::array<TokenInput, 4> token_inputs{{{tensor_names::ids, 0},
                                                  {tensor_names::token_types, 0},
                                                  {tensor_names::decoder_ids, 0},
                                                  {tensor_names::next_tokens, ignored_label}}};

/// The lengths of the sequences that an input has tokens of: a decoder's, where there is one, or else the only ones.
const char* name_lengths(std::string_view input, const Batch& batch) {
  const bool is_decoders = input == tensor_names::decoder_ids || input == tensor_names::next_tokens;
  return is_decoders && batch.has(tensor_names::decoder_lengths) ? tensor_names::decoder_lengths
                                                                 : tensor_names::lengths;
}

bool is_packed(std::string_view name) {
  return std::any_of(token_inputs.begin(), token_inputs.end(), [&](const TokenInput& row) { return row.name == name; });
}

std::vector<std::int32_t> make_offsets(Tokens lengths) {
  std::vector<std::int32_t> offsets(lengths.size() + 1);
  std::partial_sum(lengths.begin(), lengths.end(), offsets.begin() + 1);
  return offsets;
}

/// The index of each packed sequence's last token; 0 for unused entries after them.
std::vector<std::int32_t> find_last_tokens(const std::vector<std::int32_t>& offsets) {
  std::vector<std::int32_t> last(offsets.size());
  std::transform(offsets.begin() + 1, offsets.end(), last.begin(), [](std::int32_t end) { return end - 1; });
  return last;
}

/// Number of tokens that the plan computes, padding included.
std::int64_t find_capacity(const Plan& plan) {
  std::int64_t tokens = 0;
  for (const char* name : {tensor_names::ids, tensor_names::decoder_ids}) {
    if (plan.has_input(name)) tokens += plan.graph().desc(plan.graph().find_value(name)).count();
  }
  return tokens;
}

void feed_packed(Plan& plan, const Batch& batch) {
  for (const auto& [name, fill] : token_inputs) {
    if (!plan.has_input(name)) continue;
    const auto capacity = static_cast<std::size_t>(plan.graph().desc(plan.graph().find_value(name)).count());
    const Tokens lengths = batch.values<std::int32_t>(name_lengths(name, batch));
    write(plan, name, packed(batch.values<std::int32_t>(name), lengths, capacity, fill));
  }
  const Tokens lengths = batch.values<std::int32_t>(tensor_names::lengths);
  const std::vector<std::int32_t> offsets = make_offsets(lengths);
  write(plan, tensor_names::offsets, offsets);
  if (plan.has_input(tensor_names::last_tokens)) write(plan, tensor_names::last_tokens, find_last_tokens(offsets));
  if (plan.has_input(tensor_names::decoder_offsets)) {
    write(plan, tensor_names::decoder_offsets, make_offsets(batch.values<std::int32_t>(tensor_names::decoder_lengths)));
  }
}

/// Images as large as the frame.
void feed_frames(Plan& plan, const Batch& batch, std::int64_t rows) {
  const ImageSize frame = find_image_size(batch);
  HostTensor placements(DType::f32, with_rows(rows, placement_tensor().shape));
  for (std::int64_t row = 0; row < rows; ++row) write_placement(fit_inside(frame, frame), placements.row<float>(row));
  plan.write_input(tensor_names::placements, placements.bytes().data(), placements.bytes().size());
}

Shape shape_of_row(const Shape& shape) { return Shape(std::vector(shape.dims().begin() + 1, shape.dims().end())); }

void read_output(const Plan& plan, const std::string& name, const TensorDesc& desc, HostTensor& to) {
  if (!is_low_precision(desc.dtype)) return plan.read_output(name, to.writable_bytes().data(), desc.bytes());
  visit_floating(desc.dtype, [&](auto zero) {
    std::vector<decltype(zero)> raw(static_cast<std::size_t>(desc.count()));
    plan.read_output(name, raw.data(), desc.bytes());
    std::transform(raw.begin(), raw.end(), to.values<float>().begin(),
                   [](auto value) { return static_cast<float>(value); });
  });
}

/// Whether the batch has tensors of those outputs' shapes.
bool holds_outputs(const Batch& batch, const Plan& plan, const std::vector<std::string>& names) {
  return batch.entries().size() == names.size() && std::ranges::all_of(names, [&](const std::string& name) {
           const HostTensor* tensor = batch.find(name);
           const TensorDesc& desc = plan.graph().desc(plan.graph().find_output(name));
           return tensor != nullptr && tensor->shape() == desc.shape &&
                  tensor->dtype() == (is_low_precision(desc.dtype) ? DType::f32 : desc.dtype);
         });
}

}  // namespace

TokenCounts count_tokens(const Plan& plan, const Batch& batch) {
  TokenCounts counts;
  for (const char* name : {tensor_names::lengths, tensor_names::decoder_lengths}) {
    if (!batch.has(name)) continue;
    const Tokens lengths = batch.values<std::int32_t>(name);
    counts.valid = std::accumulate(lengths.begin(), lengths.begin() + batch.count, counts.valid);
    counts.computed = find_capacity(plan);
  }
  return counts;
}

Batch empty_outputs(const Plan& plan, const std::vector<std::string>& names) {
  Batch outputs;
  for (const std::string& name : names) {
    const TensorDesc& desc = plan.graph().desc(plan.graph().find_output(name));
    if (outputs.entries().empty()) outputs = Batch({}, desc.shape[0]);
    invariant(outputs.rows() == desc.shape[0], "a model's outputs have different numbers of rows");
    outputs.add({name, is_low_precision(desc.dtype) ? DType::f32 : desc.dtype, shape_of_row(desc.shape)});
  }
  outputs.count = outputs.rows();
  return outputs;
}

Batch read_outputs(const Plan& plan, const std::vector<std::string>& names, Batch before) {
  Batch outputs = holds_outputs(before, plan, names) ? std::move(before) : empty_outputs(plan, names);
  for (const std::string& name : names) {
    read_output(plan, name, plan.graph().desc(plan.graph().find_output(name)), outputs.at(name));
  }
  return outputs;
}

void feed(Plan& plan, const Batch& batch) { feed(plan, batch, {0, batch.rows()}); }

void feed(Plan& plan, const Batch& batch, RowRange rows) {
  if (plan.has_input(tensor_names::placements) && !batch.has(tensor_names::placements)) {
    feed_frames(plan, batch, rows.count);
  }
  const bool packs = plan.has_input(tensor_names::offsets);
  invariant(!packs || rows.count == batch.rows(), "some rows of packed tokens");
  if (packs) feed_packed(plan, batch);
  for (const auto& [spec, tensor] : batch.entries()) {
    if ((packs && is_packed(spec.name)) || !plan.has_input(spec.name)) continue;
    const std::size_t row_bytes =
        tensor.bytes().size() / static_cast<std::size_t>(std::max<std::int64_t>(1, batch.rows()));
    const auto bytes = tensor.bytes().subspan(static_cast<std::size_t>(rows.first) * row_bytes,
                                              static_cast<std::size_t>(rows.count) * row_bytes);
    plan.write_input(spec.name, bytes.data(), bytes.size());
  }
  for (const auto& [spec, tensor] : batch.common()) {
    if (plan.has_input(spec.name)) plan.write_input(spec.name, tensor.bytes().data(), tensor.bytes().size());
  }
}

void feed_next_inputs(Plan& plan, const Batch& batch) {
  for (const Value& value : plan.graph().values()) {
    if (value.storage != Storage::input || !value.name.starts_with(next_input)) continue;
    const HostTensor* const tensor = batch.find(std::string_view(value.name).substr(std::strlen(next_input)));
    const std::vector<std::byte> none(tensor == nullptr ? value.desc.bytes() : 0, std::byte{0xff});
    const std::span<const std::byte> bytes = tensor == nullptr ? std::span(none) : tensor->bytes();
    plan.write_input(value.name, bytes.data(), bytes.size());
  }
}

}  // namespace ptrain
