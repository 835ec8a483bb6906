#include "core/tasks/translation/translation_scores.h"

#include "core/data/text/word_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace ptrain {
namespace {

constexpr std::string_view sacrebleu_version = "2.6.0";  // which the tests' values are from

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_stop(char c) { return c == '.' || c == ','; }

/// Python's white space: Unicode's, and four separators of ASCII.
bool is_white(const Character& character) {
  return character.kind == CharacterClass::space || (character.code >= 0x1C && character.code <= 0x1F);
}

/// Characters of ASCII that are always tokens.
bool is_split_off(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') ||
         (c >= ':' && c <= '@') || c == '/';
}

std::vector<std::string> split_white(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  while (!text.empty()) {
    const Character character = first_character(text);
    const bool white = is_white(character);
    if (!white && !in_word) words.emplace_back();
    if (!white) words.back() += text.substr(0, character.bytes);
    in_word = !white;
    text.remove_prefix(character.bytes);
  }
  return words;
}

void replace_entity(std::string& text, std::string_view entity, std::string_view by) {
  for (std::size_t at = text.find(entity); at != text.npos; at = text.find(entity, at + by.size())) {
    text.replace(at, entity.size(), by);
  }
}

/// Puts `text` in place of each two neighbours for which `matches`; as a regular expression does, from the left and
/// without overlaps.
template <typename Matches, typename Write>
std::string rewrite_pairs(std::string_view text, const Matches& matches, const Write& write) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && matches(text[i], text[i + 1])) {
      write(result, text[i], text[i + 1]);
      ++i;
    } else {
      result += text[i];
    }
  }
  return result;
}

using Counts = std::unordered_map<std::string, double>;

/// The n-grams of `parts`, which are joined with `between`.
Counts count_ngrams(const std::vector<std::string>& parts, std::size_t order, std::string_view between) {
  Counts counts;
  for (std::size_t first = 0; first + order <= parts.size(); ++first) {
    std::string ngram;
    for (std::size_t i = first; i < first + order; ++i) ngram.append(parts[i]).append(between);
    ++counts[ngram];
  }
  return counts;
}

double count_matches(const Counts& translation, const Counts& reference) {
  double matches = 0;
  for (const auto& [ngram, count] : translation) {
    const auto found = reference.find(ngram);
    if (found != reference.end()) matches += std::min(count, found->second);
  }
  return matches;
}

std::vector<std::string> list_characters(std::string_view text) {
  std::vector<std::string> characters;
  while (!text.empty()) {
    const Character character = first_character(text);
    if (!is_white(character)) characters.emplace_back(text.substr(0, character.bytes));
    text.remove_prefix(character.bytes);
  }
  return characters;
}

double count_orders(std::size_t parts, std::size_t order) {
  return parts < order ? 0.0 : static_cast<double>(parts - order + 1);
}

}  // namespace

std::vector<std::string> tokenize_13a(std::string_view line) {
  std::string text(line);
  for (const auto& [entity, by] :
       {std::pair{"<skipped>", ""}, {"&quot;", "\""}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}}) {
    replace_entity(text, entity, by);
  }
  std::string apart = " ";
  for (const char c : text) {
    if (is_split_off(c)) {
      apart.append({' ', c, ' '});
    } else {
      apart += c;
    }
  }
  apart += ' ';
  apart = rewrite_pairs(
      apart, [](char a, char b) { return !is_digit(a) && is_stop(b); },
      [](std::string& to, char a, char b) {
        to.append({a, ' ', b, ' '});
      });
  apart = rewrite_pairs(
      apart, [](char a, char b) { return is_stop(a) && !is_digit(b); },
      [](std::string& to, char a, char b) {
        to.append({' ', a, ' ', b});
      });
  apart = rewrite_pairs(
      apart, [](char a, char b) { return is_digit(a) && b == '-'; },
      [](std::string& to, char a, char b) {
        to.append({a, ' ', b, ' '});
      });
  return split_white(apart);
}

void TranslationScores::add(std::string_view translation, std::string_view reference) {
  const std::vector<std::string> words = tokenize_13a(translation), expected = tokenize_13a(reference);
  length_ += static_cast<double>(words.size());
  reference_length_ += static_cast<double>(expected.size());
  for (std::size_t order = 1; order <= word_orders; ++order) {
    matches_[order - 1] += count_matches(count_ngrams(words, order, " "), count_ngrams(expected, order, " "));
    totals_[order - 1] += count_orders(words.size(), order);
  }
  const std::vector<std::string> letters = list_characters(translation), expected_letters = list_characters(reference);
  for (std::size_t order = 1; order <= character_orders; ++order) {
    CharacterCounts& counts = characters_[order - 1];
    const double referenced = count_orders(expected_letters.size(), order);
    if (referenced > 0) counts.translation += count_orders(letters.size(), order);
    counts.reference += referenced;
    counts.matches += count_matches(count_ngrams(letters, order, ""), count_ngrams(expected_letters, order, ""));
  }
}

double TranslationScores::bleu() const {
  if (std::ranges::all_of(matches_, [](double matches) { return matches == 0; })) return 0;
  double smoothing = 1, logs = 0;
  for (std::size_t i = 0; i < word_orders; ++i) {
    if (totals_[i] == 0) return 0;
    if (matches_[i] == 0) smoothing *= 2;
    logs += std::log(matches_[i] == 0 ? 100 / (smoothing * totals_[i]) : 100 * matches_[i] / totals_[i]);
  }
  const double penalty = length_ < reference_length_ ? std::exp(1 - reference_length_ / length_) : 1.0;
  return penalty * std::exp(logs / static_cast<double>(word_orders));
}

double TranslationScores::chrf() const {
  constexpr double recall_weight = 2 * 2;
  double precision = 0, recall = 0, orders = 0;
  for (const CharacterCounts& counts : characters_) {
    if (counts.translation == 0 || counts.reference == 0) continue;
    precision += counts.matches / counts.translation;
    recall += counts.matches / counts.reference;
    ++orders;
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  return 100 * (1 + recall_weight) * precision * recall / (recall_weight * precision + recall);
}

std::vector<double> TranslationScores::state() const {
  std::vector<double> state(matches_.begin(), matches_.end());
  state.insert(state.end(), totals_.begin(), totals_.end());
  state.insert(state.end(), {length_, reference_length_});
  for (const CharacterCounts& counts : characters_) {
    state.insert(state.end(), {counts.translation, counts.reference, counts.matches});
  }
  return state;
}

void TranslationScores::merge(std::span<const double> state) {
  std::size_t at = 0;
  for (double& count : matches_) count += state[at++];
  for (double& count : totals_) count += state[at++];
  length_ += state[at++];
  reference_length_ += state[at++];
  for (CharacterCounts& counts : characters_) {
    for (double* count : {&counts.translation, &counts.reference, &counts.matches}) *count += state[at++];
  }
}

std::string TranslationScores::signature() {
  return fmt::format(
      "BLEU nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{0}, chrF2 "
      "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{0}",
      sacrebleu_version);
}

}  // namespace ptrain
