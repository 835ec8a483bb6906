#include "core/runtime/feeder.h"

#include "core/base/errors.h"
#include "core/model/model.h"
#include "core/ops/softmax_cross_entropy.h"

#include <algorithm>
#include <numeric>

namespace ptrain {
namespace {

template <typename T>
void write(Plan& plan, const char* input, const std::vector<T>& values) {
  if (!values.empty()) plan.write_input(input, values.data(), values.size() * sizeof(T));
}

/// The valid tokens of `rows` [N,S], one row behind the other, filled up with zeros to `capacity`.
std::vector<std::int32_t> packed(const std::vector<std::int32_t>& rows, const std::vector<std::int32_t>& lengths,
                                 std::size_t capacity) {
  const auto stride = static_cast<std::ptrdiff_t>(rows.size() / lengths.size());
  std::vector<std::int32_t> tokens;
  tokens.reserve(capacity);
  auto row = rows.begin();
  for (const std::int32_t length : lengths) {
    tokens.insert(tokens.end(), row, row + length);
    row += stride;
  }
  invariant(tokens.size() <= capacity, "a batch has more tokens than its plan has room for");
  tokens.resize(capacity);
  return tokens;
}

std::vector<std::int32_t> offsets_of(const std::vector<std::int32_t>& lengths) {
  std::vector<std::int32_t> offsets(lengths.size() + 1);
  std::partial_sum(lengths.begin(), lengths.end(), offsets.begin() + 1);
  return offsets;
}

/// The place of each packed sequence's last token, and 0 behind them.
std::vector<std::int32_t> last_tokens_of(const std::vector<std::int32_t>& offsets) {
  std::vector<std::int32_t> last(offsets.size());
  std::transform(offsets.begin() + 1, offsets.end(), last.begin(), [](std::int32_t end) { return end - 1; });
  return last;
}

/// Each token's next one in its row, and the ignored label of those that have none and of rows from `valid` on.
std::vector<std::int32_t> next_tokens_of(const Batch& batch, std::int64_t valid) {
  const std::size_t length = batch.ids.size() / batch.lengths.size();
  std::vector<std::int32_t> next(batch.ids.size(), ignored_label);
  for (std::size_t row = 0; row < static_cast<std::size_t>(valid); ++row) {
    const auto first = batch.ids.begin() + static_cast<std::ptrdiff_t>(row * length);
    std::copy(first + 1, first + batch.lengths[row], next.begin() + static_cast<std::ptrdiff_t>(row * length));
  }
  return next;
}

/// Tokens that the plan computes, padding included.
std::int64_t capacity_of(const Plan& plan) {
  return plan.has_input(model_io::ids) ? plan.graph().desc(plan.graph().find_value(model_io::ids)).count() : 0;
}

}  // namespace

TokenCounts count_tokens(const Plan& plan, const Batch& batch) {
  if (batch.lengths.empty()) return {};
  return {std::accumulate(batch.lengths.begin(), batch.lengths.begin() + batch.count, std::int64_t{0}),
          capacity_of(plan)};
}

std::vector<float> read_logits(const Plan& plan) {
  const TensorDesc& desc = plan.graph().desc(plan.graph().find_output(model_io::logits));
  std::vector<float> logits(static_cast<std::size_t>(desc.count()));
  visit_floating(desc.dtype, [&](auto zero) {
    std::vector<decltype(zero)> raw(logits.size());
    plan.read_output(model_io::logits, raw.data(), desc.bytes());
    std::transform(raw.begin(), raw.end(), logits.begin(), [](auto value) { return static_cast<float>(value); });
  });
  return logits;
}

std::int64_t class_count(const Plan& plan) {
  const std::int64_t logits = plan.graph().desc(plan.graph().find_output(model_io::logits)).shape[-1];
  return std::max<std::int64_t>(2, logits);
}

std::vector<float> read_class_logits(const Plan& plan) {
  std::vector<float> logits = read_logits(plan);
  if (plan.graph().desc(plan.graph().find_output(model_io::logits)).shape[-1] > 1) return logits;
  std::vector<float> both;
  both.reserve(2 * logits.size());
  for (const float second : logits) both.insert(both.end(), {0.0f, second});
  return both;
}

void feed(Plan& plan, const Batch& batch, std::int64_t valid) {
  write(plan, model_io::images, batch.pixels);
  if (plan.has_input(model_io::offsets)) {
    const auto capacity = static_cast<std::size_t>(capacity_of(plan));
    write(plan, model_io::ids, packed(batch.ids, batch.lengths, capacity));
    write(plan, model_io::token_types, packed(batch.token_types, batch.lengths, capacity));
    const std::vector<std::int32_t> offsets = offsets_of(batch.lengths);
    write(plan, model_io::offsets, offsets);
    if (plan.has_input(model_io::last_tokens)) write(plan, model_io::last_tokens, last_tokens_of(offsets));
  } else {
    write(plan, model_io::ids, batch.ids);
    write(plan, model_io::token_types, batch.token_types);
  }
  write(plan, model_io::lengths, batch.lengths);
  write(plan, model_io::numbers, batch.numbers);
  write(plan, model_io::categories, batch.categories);
  if (plan.has_input(model_io::values)) {
    std::vector<float> values = batch.values;
    std::fill(values.begin() + valid, values.end(), std::numeric_limits<float>::quiet_NaN());
    write(plan, model_io::values, values);
  }
  if (plan.has_input(model_io::next_tokens)) write(plan, model_io::next_tokens, next_tokens_of(batch, valid));
  if (!plan.has_input(model_io::labels)) return;
  if (plan.has_input(model_io::other_labels)) {
    write(plan, model_io::other_labels, batch.other_labels);
    plan.write_input(model_io::own_share, &batch.own_share, sizeof batch.own_share);
  }
  if (valid == static_cast<std::int64_t>(batch.labels.size())) {
    write(plan, model_io::labels, batch.labels);
    return;
  }
  std::vector<std::int32_t> labels = batch.labels;
  std::fill(labels.begin() + valid, labels.end(), ignored_label);
  write(plan, model_io::labels, labels);
}

}  // namespace ptrain
