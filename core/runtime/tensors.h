// Input tensors from other programs: validated and converted to a batch.
#pragma once

#include "core/data/batch.h"
#include "core/data/dataset.h"

#include <span>
#include <string_view>

namespace ptrain {

struct InputTensor {
  std::string_view name;
  DType type = DType::u8;  // or i32, i64, f32
  std::span<const std::int64_t> shape;
  const void* data = nullptr;  // dense, the last axis fastest; of any alignment
};

/// A tensor that programs may pass.
struct ClientTensor {
  std::string name;
  DType type = DType::f32;          // preferred type: pixels may also be f32, integers also i32
  std::vector<std::int64_t> shape;  // -1: samples, or a sequence axis that may be shorter than the model's
  std::int64_t limit = 0;           // integers are from 0 to below it; 0: real numbers
};

/// The tensors for samples of that form: input_tensors() with an attention mask in place of lengths.
std::vector<ClientTensor> client_tensors(const DatasetInfo& data);

/// Converts tensors [N, shape of the spec], 1 <= N <= `most`. `images` are u8 or, scaled to [0, 1], f32, which is
/// rounded to the 256 levels that the model was trained on. Integers are i32 or i64. Text is `input_ids` [N, S], S up
/// to max_length, and in the same shape `attention_mask`, 1 for tokens and 0 for the padding after them (none: all are
/// tokens), and `token_type_ids` (none: 0). Older names of tensors (tensor_names::current_name) are accepted. Throws
/// Error{usage} naming the tensor, what was expected and what it is.
Batch make_batch(const DatasetInfo& data, std::span<const InputTensor> inputs, std::int64_t most);

}  // namespace ptrain
