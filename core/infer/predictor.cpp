#include "core/infer/predictor.h"

#include <algorithm>
#include <bit>

namespace ptrain {
namespace {

/// What stands in the rows behind is nobody's; of text each is one token.
void pad_rows(Batch& batch, std::int64_t rows) {
  const std::size_t from = batch.labels.size(), to = static_cast<std::size_t>(rows);
  if (from >= to) return;
  batch.pixels.resize(batch.pixels.size() / from * to);
  batch.ids.resize(batch.ids.size() / from * to);
  batch.token_types.resize(batch.token_types.size() / from * to);
  if (!batch.lengths.empty()) batch.lengths.resize(to, 1);
  batch.labels.resize(to);
}

}  // namespace

std::int64_t Predictor::rows_for(std::int64_t inputs) const {
  const auto rows = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(inputs)));
  return std::min(rows, model_.batch_size());
}

std::vector<float> Predictor::run(Batch& batch) {
  pad_rows(batch, rows_for(batch.count));
  std::vector<float> logits = model_.run(batch);
  logits.resize(static_cast<std::size_t>(batch.count * model_.classes()));
  for (std::int64_t row = 0; row < batch.count; ++row) {
    require_finite(
        std::span(logits).subspan(static_cast<std::size_t>(row * classes()), static_cast<std::size_t>(classes())),
        fmt::format("input {}", row));
  }
  return logits;
}

}  // namespace ptrain
