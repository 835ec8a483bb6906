#include "core/infer/generated_text.h"

#include "core/base/errors.h"
#include "core/base/rng.h"
#include "core/base/utf8.h"
#include "core/data/tensor_names.h"
#include "core/io/atomic_file.h"

#include <algorithm>

namespace ptrain {

GeneratedText::GeneratedText(const Tokenizer& tokenizer, const std::string& prompt, GenerationOptions options,
                             std::int64_t max_length, std::uint64_t number)
    : tokenizer_(tokenizer), options_(std::move(options)), max_length_(max_length), number_(number) {
  result_.prompt = prompt;
  tokenizer.tokenize(prompt, ids_);
  const auto begin = tokenizer.begin_id();
  if (begin && (ids_.empty() || ids_.front() != *begin)) ids_.insert(ids_.begin(), *begin);
  result_.prompt_tokens = static_cast<std::int64_t>(ids_.size());
  if (ids_.empty() || result_.prompt_tokens >= max_length) {
    fail("{}: has {} tokens, expected 1 to {}: the model reads {}", shown(), ids_.size(), max_length - 1, max_length);
  }
  prompt_bytes_ = tokenizer.decode(ids_).size();
}

bool GeneratedText::is_open() const {
  return !result_.ended && !result_.stopped && !result_.is_full && result_.tokens < options_.tokens;
}

void GeneratedText::add(std::span<const float> logits) {
  const RandomStream random{options_.sampling.seed, number_, 0};
  const std::int32_t id =
      choose_token(logits, ids_, options_.sampling, random.uniform(static_cast<std::uint64_t>(result_.tokens)));
  result_.ended = id == tokenizer_.end_id();
  if (result_.ended) return;
  ids_.push_back(id);
  ++result_.tokens;
  decode();
  result_.is_full = is_open() && static_cast<std::int64_t>(ids_.size()) == max_length_;
}

/// With the prompt: some vocabularies drop the space that a text begins with.
void GeneratedText::decode() {
  const std::string whole = tokenizer_.decode(ids_);
  std::string& text = result_.text = whole.substr(std::min(prompt_bytes_, whole.size()));
  std::size_t end = std::string::npos;
  for (const std::string& stop : options_.stops) end = std::min(end, text.find(stop));
  if (end == std::string::npos) return;
  result_.stopped = true;
  text.resize(end);
}

std::string GeneratedText::shown() const {
  constexpr std::size_t most_bytes = 60;
  return quoted_name(result_.prompt.substr(0, most_bytes));
}

std::size_t GeneratedText::settled() const {
  const std::string_view text = result_.text;
  if (!is_open()) return text.size();
  std::size_t end = text.size();
  for (const std::string& stop : options_.stops) {
    for (std::size_t part = std::min(stop.size(), text.size()); part > 0; --part) {
      if (!text.ends_with(std::string_view(stop).substr(0, part))) continue;
      end = std::min(end, text.size() - part);
      break;
    }
  }
  constexpr std::size_t longest_character = 4;
  for (std::size_t left = 0; left < longest_character && left < end; ++left) {
    if (is_utf8(text.substr(end - left - 1, left + 1))) return end;
    if ((static_cast<unsigned char>(text[end - left - 1]) & 0xc0) != 0x80) return end - left - 1;  // begins a character
  }
  return end;
}

bool GenerationBatch::has_room() const { return std::ranges::find(slots_, nullptr) != slots_.end(); }

bool GenerationBatch::is_empty() const {
  return std::ranges::all_of(slots_, [](const auto& text) { return text == nullptr; });
}

void GenerationBatch::add(std::shared_ptr<GeneratedText> text) {
  const auto free = std::ranges::find(slots_, nullptr);
  invariant(free != slots_.end(), "a batch of texts has no room");
  decoder_.clear(free - slots_.begin());
  *free = std::move(text);
}

void GenerationBatch::remove(const GeneratedText& text) {
  for (std::shared_ptr<GeneratedText>& one : slots_) {
    if (one.get() == &text) one = nullptr;
  }
}

std::vector<std::shared_ptr<GeneratedText>> GenerationBatch::step() {
  std::vector<std::size_t> fresh, others;
  std::vector<std::shared_ptr<GeneratedText>> texts;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot] == nullptr) continue;
    texts.push_back(slots_[slot]);
    (decoder_.length(static_cast<std::int64_t>(slot)) == 0 ? fresh : others).push_back(slot);
  }
  for (const std::vector<std::size_t>* which : {&fresh, &others}) {
    if (!which->empty()) read(*which);
  }
  return texts;
}

void GenerationBatch::read(const std::vector<std::size_t>& which) {
  std::vector<NewTokens> tokens;
  for (const std::size_t index : which) {
    const auto slot = static_cast<std::int64_t>(index);
    tokens.push_back({slot, slots_[index]->ids().subspan(static_cast<std::size_t>(decoder_.length(slot)))});
  }
  const Batch scores = decoder_.append(tokens);
  for (std::size_t i = 0; i < which.size(); ++i) {
    std::shared_ptr<GeneratedText>& text = slots_[which[i]];
    const auto row = static_cast<std::int64_t>(i);
    require_finite(scores, row, text->shown());
    text->add(scores.at(tensor_names::logits).row<float>(row));
    if (!text->is_open()) text = nullptr;
  }
}

}  // namespace ptrain
