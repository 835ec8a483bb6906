#include "core/runtime/decoding/text_decoder.h"

#include "core/base/errors.h"
#include "core/data/tensor_names.h"

#include <algorithm>
#include <bit>

namespace ptrain {

TextDecoder::TextDecoder(Backend& backend, const Model& model, const Task& task, const TrainedWeights& weights,
                         const DeployOptions& options)
    : model_(backend, model, task, weights, options),
      max_length_(options.cache->length),
      lengths_(static_cast<std::size_t>(options.batch_size)) {}

Batch TextDecoder::append(std::span<const NewTokens> texts) {
  const auto rows =
      std::min(std::bit_ceil(texts.size()), lengths_.size());  // few plans; rows without a text have no tokens
  std::size_t longest = 1;
  for (const NewTokens& text : texts) longest = std::max(longest, text.ids.size());
  std::vector<std::int32_t> ids(rows * longest), lengths(rows), slots(rows), past(rows);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const NewTokens& text = texts[i];
    std::int32_t& length = lengths_.at(static_cast<std::size_t>(text.slot));
    slots[i] = static_cast<std::int32_t>(text.slot);
    past[i] = length;
    lengths[i] = static_cast<std::int32_t>(text.ids.size());
    std::ranges::copy(text.ids, ids.begin() + static_cast<std::ptrdiff_t>(i * longest));
    length += lengths[i];
    invariant(!text.ids.empty() && length <= max_length_, "a text outgrows its cache, or has no new token");
  }
  const bool are_new = std::ranges::all_of(past, [](std::int32_t length) { return length == 0; });
  Batch batch;
  const Shape width{static_cast<std::int64_t>(longest)};
  batch.add(tensor_names::ids, width, ids);
  batch.add(tensor_names::token_types, width, std::vector<std::int32_t>(ids.size()));
  batch.add(tensor_names::lengths, {}, lengths);
  batch.add(tensor_names::cache_slots, {}, slots);
  batch.add(tensor_names::past, {}, past);
  batch.count = static_cast<std::int64_t>(texts.size());
  Batch scores = model_.run(batch, are_new ? Mode::prefill : Mode::decoding);
  return scores.rows() == batch.count ? std::move(scores) : scores.slice(0, batch.count);
}

}  // namespace ptrain
