#include "core/data/text/learn_bpe.h"

#include "core/base/errors.h"
#include "core/data/text/bpe_tokenizer.h"
#include "core/data/text/word_split.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace ptrain {
namespace {

using nlohmann::ordered_json;
using Pair = std::pair<std::int32_t, std::int32_t>;  // adjacent tokens

constexpr std::array<std::string_view, 2> vocabulary_marks{"</s>", "<pad>"};

struct Word {
  std::vector<std::int32_t> tokens;
  std::int64_t count = 0;
};

struct PairUse {
  std::int64_t count = 0;
  std::set<std::size_t> words;  // that may have the pair
};

struct PairCount {
  std::int64_t count;
  Pair pair;

  bool operator<(const PairCount& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

/// How often each word occurs, by its text with the space before it.
std::map<std::string, std::int64_t, std::less<>> count_words(std::string_view text) {
  const SplitRule rule{SplitRule::Kind::gpt2, 0};
  std::unordered_map<std::string, std::int64_t> counts;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string line(1, ' ');
    line += text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    for (std::string_view rest = line; !rest.empty();) {
      const std::size_t length = rule.first_word(rest);
      ++counts[std::string(rest.substr(0, length))];
      rest.remove_prefix(length);
    }
  }
  return {counts.begin(), counts.end()};
}

class BpeLearner {
 public:
  explicit BpeLearner(std::string_view text) {
    tokens_.assign(vocabulary_marks.begin(), vocabulary_marks.end());
    const std::array<std::string, 256> written = list_written_bytes();
    std::vector<std::string> sorted(written.begin(), written.end());
    std::ranges::sort(sorted);
    std::map<std::string_view, std::int32_t> ids;
    for (const std::string& byte : sorted) {
      ids[byte] = static_cast<std::int32_t>(tokens_.size());
      tokens_.push_back(byte);
    }
    for (const auto& [letters, count] : count_words(text)) {
      Word& word = words_.emplace_back();
      word.count = count;
      for (const char byte : letters) word.tokens.push_back(ids.at(written[static_cast<unsigned char>(byte)]));
    }
    for (std::size_t word = 0; word < words_.size(); ++word) count_pairs(word, 1);
    for (const auto& [pair, use] : pairs_) candidates_.push({use.count, pair});
  }

  void learn(std::size_t size) {
    constexpr std::int64_t least_count = 2;
    while (tokens_.size() < size && !candidates_.empty()) {
      const PairCount best = candidates_.top();
      candidates_.pop();
      const std::int64_t now = pairs_.at(best.pair).count;
      if (now != best.count) {  // counted before other merges
        if (now > 0) candidates_.push({now, best.pair});
        continue;
      }
      if (now < least_count) return;
      merge(best.pair);
    }
  }

  ordered_json write() const {
    ordered_json vocabulary = ordered_json::object(), added = ordered_json::array();
    for (std::size_t id = 0; id < tokens_.size(); ++id) vocabulary[tokens_[id]] = id;
    for (std::size_t id = 0; id < vocabulary_marks.size(); ++id) {
      added.push_back({{"id", id},
                       {"content", vocabulary_marks[id]},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", false},
                       {"special", true}});
    }
    const ordered_json bytes{
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
    const ordered_json strip{{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}};
    return {{"version", "1.0"},
            {"truncation", nullptr},
            {"padding", nullptr},
            {"added_tokens", added},
            {"normalizer", {{"type", "Prepend"}, {"prepend", " "}}},
            {"pre_tokenizer", bytes},
            {"post_processor", nullptr},
            {"decoder", {{"type", "Sequence"}, {"decoders", ordered_json::array({bytes, strip})}}},
            {"model",
             {{"type", "BPE"},
              {"dropout", nullptr},
              {"unk_token", nullptr},
              {"continuing_subword_prefix", nullptr},
              {"end_of_word_suffix", nullptr},
              {"fuse_unk", false},
              {"byte_fallback", false},
              {"ignore_merges", false},
              {"vocab", vocabulary},
              {"merges", merges_}}}};
  }

 private:
  /// Adds the pairs of a word to the counts, or takes them off.
  void count_pairs(std::size_t word, std::int64_t sign) {
    const auto& [tokens, count] = words_[word];
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      PairUse& use = pairs_[{tokens[i - 1], tokens[i]}];
      use.count += sign * count;
      use.words.insert(word);
    }
  }

  void merge(Pair pair) {
    const auto joined = static_cast<std::int32_t>(tokens_.size());
    const std::string left = tokens_[static_cast<std::size_t>(pair.first)];
    const std::string right = tokens_[static_cast<std::size_t>(pair.second)];
    tokens_.push_back(left + right);
    merges_.push_back({left, right});
    std::set<Pair> changed;
    for (const std::size_t word : std::exchange(pairs_[pair].words, {})) {
      count_pairs(word, -1);
      join(words_[word].tokens, pair, joined);
      count_pairs(word, 1);
      const std::vector<std::int32_t>& tokens = words_[word].tokens;
      for (std::size_t i = 1; i < tokens.size(); ++i) {
        if (tokens[i - 1] == joined || tokens[i] == joined) changed.insert({tokens[i - 1], tokens[i]});
      }
    }
    for (const Pair& made : changed) candidates_.push({pairs_[made].count, made});
  }

  static void join(std::vector<std::int32_t>& tokens, Pair pair, std::int32_t joined) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool is_pair = i + 1 < tokens.size() && tokens[i] == pair.first && tokens[i + 1] == pair.second;
      tokens[kept++] = is_pair ? joined : tokens[i];
      if (is_pair) ++i;
    }
    tokens.resize(kept);
  }

  std::vector<std::string> tokens_;  // by id
  ordered_json merges_ = ordered_json::array();
  std::vector<Word> words_;
  std::map<Pair, PairUse> pairs_;
  std::priority_queue<PairCount> candidates_;
};

}  // namespace

ordered_json learn_byte_bpe(std::string_view text, std::int64_t size) {
  constexpr std::int64_t least = vocabulary_marks.size() + 256;
  if (size < least) fail_usage("a byte-level vocabulary needs at least {} tokens, got {}", least, size);
  BpeLearner learner(text);
  learner.learn(static_cast<std::size_t>(size));
  return learner.write();
}

}  // namespace ptrain
