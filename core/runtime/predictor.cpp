#include "core/runtime/predictor.h"

#include "core/base/rng.h"
#include "core/data/tensor_names.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace ptrain {

Batch make_synthetic_batch(const DatasetInfo& data, std::int64_t rows) {
  Batch batch(input_tensors(data), rows);
  batch.count = rows;
  const RandomStream random{1, 0, 0};
  const auto fill = [&](auto values, std::uint32_t below) {
    using T = std::remove_reference_t<decltype(values[0])>;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(random.bits(i) % below);
  };
  for (const auto& [spec, tensor] : batch.entries()) {
    if (spec.name == tensor_names::lengths) {
      std::ranges::fill(batch.values<std::int32_t>(spec.name), data.max_length);
    } else if (spec.dtype == DType::u8) {
      fill(batch.values<std::uint8_t>(spec.name), 256);
    } else if (spec.dtype == DType::f32) {
      fill(batch.values<float>(spec.name), 2);
    } else if (spec.dtype == DType::i64) {
      fill(batch.values<std::int64_t>(spec.name), std::numeric_limits<std::uint32_t>::max());
    } else if (spec.name != tensor_names::token_types) {  // token types are 0: one sentence
      fill(batch.values<std::int32_t>(spec.name), static_cast<std::uint32_t>(spec.limit));
    }
  }
  return batch;
}

std::int64_t Predictor::rows_for(std::int64_t inputs) const {
  const auto rows = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(inputs)));
  return std::min(rows, model_.batch_size());
}

void Predictor::prepare(const DatasetInfo& data) {
  for (std::int64_t rows = 1;; rows = rows_for(2 * rows)) {
    Batch batch = make_synthetic_batch(data, rows);
    model_.run(batch);
    if (rows == most()) return;
  }
}

Batch Predictor::run(Batch& batch) {
  batch.pad(rows_for(batch.count));
  Batch scores = model_.run(batch);
  for (std::int64_t row = 0; row < batch.count; ++row) require_finite(scores, row, fmt::format("input {}", row));
  return scores.rows() == batch.count ? std::move(scores) : scores.slice(0, batch.count);
}

}  // namespace ptrain
