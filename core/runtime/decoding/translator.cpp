#include "core/runtime/decoding/translator.h"

#include "core/base/errors.h"
#include "core/base/parallel.h"
#include "core/data/tensor_names.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace ptrain {
namespace {

/// With a slot for every beam, each as long as the longest text.
DeployOptions with_beams(DeployOptions options, const SearchOptions& search) {
  options.cache->length = std::max(options.max_length, search.max_tokens);
  options.cache->slots = options.batch_size * search.beams;
  return options;
}

SearchOptions with_limit(SearchOptions search, std::int64_t max_length) {
  if (search.max_tokens == 0) search.max_tokens = max_length;
  return search;
}

/// A decoding step's rows, one token each; those after the last text's have none.
struct DecodingRows {
  std::vector<std::int32_t> ids, lengths, slots, past, sources, memory_slots, last_positions;

  explicit DecodingRows(std::size_t rows) {
    for (auto* values : {&ids, &lengths, &slots, &past, &sources, &memory_slots, &last_positions}) values->resize(rows);
  }
  Batch to_batch() const {
    Batch batch;
    batch.add(tensor_names::ids, Shape{1}, ids);
    batch.add(tensor_names::lengths, {}, lengths);
    batch.add(tensor_names::cache_slots, {}, slots);
    batch.add(tensor_names::past, {}, past);
    batch.add(tensor_names::cache_sources, {}, sources);
    batch.add(tensor_names::memory_slots, {}, memory_slots);
    batch.add(tensor_names::last_positions, {}, last_positions);
    batch.count = batch.rows();
    return batch;
  }
};

}  // namespace

/// A source's search, and the slots of its beams: the first of them keeps the source's keys.
struct Translator::Text {
  BeamSearch search;
  std::int32_t first_slot;
  std::vector<std::int32_t> slots;    // of each beam
  std::vector<std::int32_t> sources;  // the slot whose past each beam continues

  /// Beams keep their parent's slot if they are its first; the others take slots that are free, and copy from it.
  void step(std::span<const std::span<const float>> logits, std::int64_t beams) {
    search.step(logits);
    const std::vector<std::int32_t> before = std::exchange(slots, {});
    std::vector<bool> taken(static_cast<std::size_t>(beams));
    sources.clear();
    for (const BeamSearch::Beam& beam : search.beams()) {
      const std::int32_t parent = before[beam.parent];
      const bool is_first = !taken[static_cast<std::size_t>(parent - first_slot)];
      sources.push_back(parent);
      slots.push_back(is_first ? parent : -1);
      taken[static_cast<std::size_t>(parent - first_slot)] = true;
    }
    for (std::int32_t& slot : slots) {
      if (slot >= 0) continue;
      const auto free = std::ranges::find(taken, false) - taken.begin();
      taken[static_cast<std::size_t>(free)] = true;
      slot = first_slot + static_cast<std::int32_t>(free);
    }
  }
};

Translator::Translator(Backend& backend, const Model& model, const Task& task, const TrainedWeights& weights,
                       DeployOptions options, SearchOptions search, std::int32_t end_token)
    : search_(with_limit(search, options.max_length)),
      end_token_(end_token),
      model_(backend, model, task, weights, with_beams(std::move(options), search_)) {}

Translator::Translator(Backend& backend, const Model& model, const Task& task, const Variables& trained,
                       DeployOptions options, SearchOptions search, std::int32_t end_token)
    : search_(with_limit(search, options.max_length)),
      end_token_(end_token),
      model_(backend, model, task, trained, with_beams(std::move(options), search_)) {}

std::int64_t Translator::estimate_memory(const Model& model, const Task& task, DeployOptions options,
                                         SearchOptions search, const KernelLibrary& kernels) {
  search = with_limit(search, options.max_length);
  return estimate_deployed_memory(model, task, with_beams(std::move(options), search), kernels);
}

std::vector<Translator::Ids> Translator::translate(std::span<const Ids> sources) {
  invariant(std::ssize(sources) <= batch_size(), "more texts than are translated at once");
  std::vector<Ids> asked;
  std::ranges::copy_if(sources, std::back_inserter(asked), [](const Ids& source) { return !source.empty(); });
  const std::vector<Ids> found = search_for(asked);
  auto next = found.begin();
  std::vector<Ids> translations;
  for (const Ids& source : sources) translations.push_back(source.empty() ? Ids() : *next++);
  return translations;
}

std::vector<Translator::Ids> Translator::search_for(std::span<const Ids> sources) {
  std::vector<Text> texts;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto first_slot = static_cast<std::int32_t>(static_cast<std::int64_t>(i) * search_.beams);
    texts.push_back({BeamSearch(search_, end_token_), first_slot, {first_slot}, {}});
  }
  if (texts.empty()) return {};
  prefill(texts, sources);
  while (!std::ranges::all_of(texts, [](const Text& text) { return text.search.is_done(); })) decode(texts, sources);
  std::vector<Ids> translations;
  for (const Text& text : texts) translations.push_back(text.search.best());
  return translations;
}

std::size_t Translator::round_rows(std::size_t rows, Mode mode) const {
  return std::min(std::bit_ceil(rows), static_cast<std::size_t>(model_.batch_size(mode)));
}

void Translator::prefill(std::vector<Text>& texts, std::span<const Ids> sources) {
  const std::size_t rows = round_rows(texts.size(), Mode::prefill);
  std::size_t longest = 1;
  for (const Ids& source : sources) longest = std::max(longest, source.size());
  std::vector<std::int32_t> ids(rows * longest), lengths(rows), slots(rows), first(rows, end_token_), one(rows);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    std::ranges::copy(sources[i], ids.begin() + static_cast<std::ptrdiff_t>(i * longest));
    lengths[i] = static_cast<std::int32_t>(sources[i].size());
    slots[i] = texts[i].first_slot;
    one[i] = 1;
  }
  Batch batch;
  batch.add(tensor_names::ids, Shape{static_cast<std::int64_t>(longest)}, ids);
  batch.add(tensor_names::lengths, {}, lengths);
  batch.add(tensor_names::cache_slots, {}, slots);
  batch.add(tensor_names::past, {}, std::vector<std::int32_t>(rows));
  batch.add(tensor_names::decoder_ids, Shape{1}, first);
  batch.add(tensor_names::decoder_lengths, {}, one);
  batch.count = batch.rows();
  step(texts, run(batch, Mode::prefill));
}

void Translator::decode(std::vector<Text>& texts, std::span<const Ids> sources) {
  std::size_t count = 0;
  for (const Text& text : texts) count += text.search.is_done() ? 0 : text.slots.size();
  DecodingRows rows(round_rows(count, Mode::decoding));
  std::size_t row = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Text& text = texts[i];
    for (std::size_t beam = 0; !text.search.is_done() && beam < text.slots.size(); ++beam, ++row) {
      const Ids& tokens = text.search.beams()[beam].tokens;
      rows.ids[row] = tokens.back();
      rows.lengths[row] = 1;
      rows.slots[row] = text.slots[beam];
      rows.past[row] = static_cast<std::int32_t>(tokens.size());
      rows.sources[row] = text.sources[beam];
      rows.memory_slots[row] = text.first_slot;
      rows.last_positions[row] = static_cast<std::int32_t>(sources[i].size()) - 1;
    }
  }
  step(texts, run(rows.to_batch(), Mode::decoding));
}

const Batch& Translator::run(const Batch& batch, Mode mode) {
  Batch& scores = scores_[batch.rows()];
  return scores = model_.run(batch, mode, std::move(scores));
}

void Translator::step(std::vector<Text>& texts, const Batch& scores) const {
  std::vector<std::pair<Text*, std::vector<std::span<const float>>>> unfinished;
  std::int64_t row = 0;
  for (Text& text : texts) {
    if (text.search.is_done()) continue;
    auto& logits = unfinished.emplace_back(&text, std::vector<std::span<const float>>()).second;
    for (std::size_t beam = 0; beam < text.slots.size(); ++beam) {
      logits.push_back(scores.at(tensor_names::logits).row<float>(row++));
    }
  }
  parallel_for(std::ssize(unfinished), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto& [text, logits] :
         std::span(unfinished).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin))) {
      text->step(logits, search_.beams);
    }
  });
}

}  // namespace ptrain
