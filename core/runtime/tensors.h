// What other programs hand over: named tensors, held to what the model reads and made into a batch.
#pragma once

#include "core/data/batch.h"
#include "core/data/dataset.h"

#include <span>
#include <string_view>

namespace ptrain {

enum class TensorType { u8, i32, i64, f32 };
/// "u8"
std::string_view name_of(TensorType type);

struct InputTensor {
  std::string_view name;
  TensorType type = TensorType::u8;
  std::span<const std::int64_t> shape;
  const void* data = nullptr;  // dense, the last axis fastest; of any alignment
};

/// Names that a tensor may bear; those of models' own inputs are in core/model/model.h.
namespace tensor_names {
inline constexpr std::string_view images = "images";
inline constexpr std::string_view ids = "input_ids";
inline constexpr std::string_view mask = "attention_mask";
inline constexpr std::string_view token_types = "token_type_ids";
}  // namespace tensor_names

/// Of images: `images` [N, size, size, 3], red first, in u8 or, scaled to [0, 1], in f32, which is rounded to the 256
/// levels that the model was trained on. Of text, in i32 or i64: `input_ids` [N, S], S up to max_length; of the same
/// shape `attention_mask`, 1 for tokens and 0 for the padding behind them (none: all are tokens), and `token_type_ids`
/// (none: 0). 1 <= N <= `most`. Throws Error{usage} naming the tensor, what was expected and what it is.
Batch batch_of(const DatasetInfo& data, std::span<const InputTensor> inputs, std::int64_t most);

}  // namespace ptrain
