// Running text as blocks of tokens: the tokens of all lines, line ends included, are concatenated and split into blocks
// of data.max_length; tokens after the last whole block are dropped (as in transformers' run_clm.py).
#include "core/base/hash.h"
#include "core/base/parallel.h"
#include "core/data/sources.h"
#include "core/data/tensor_names.h"
#include "core/data/text/text_encoding.h"
#include "core/data/text/tokenizer.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <array>

namespace ptrain {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::int32_t>;

/// Ends of the parts of `text` that are tokenised in parallel; each part is whole lines.
std::vector<std::size_t> part_ends(std::string_view text) {
  constexpr std::size_t part_bytes = 1 << 18;
  std::vector<std::size_t> ends;
  for (std::size_t end = 0; end < text.size();) {
    const std::size_t line_end = text.find('\n', std::min(end + part_bytes, text.size() - 1));
    end = line_end == text.npos ? text.size() : line_end + 1;
    ends.push_back(end);
  }
  return ends;
}

void tokenize_lines(const Tokenizer& tokenizer, std::string_view text, Ids& ids) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t length = end == text.npos ? text.size() : end + 1;
    tokenizer.tokenize(text.substr(0, length), ids);
    text.remove_prefix(length);
  }
}

Ids encode_text(const Tokenizer& tokenizer, std::string_view text) {
  const std::vector<std::size_t> ends = part_ends(text);
  std::vector<Ids> parts(ends.size());
  parallel_for(static_cast<std::int64_t>(parts.size()), 1, [&](std::int64_t first, std::int64_t last) {
    for (auto part = static_cast<std::size_t>(first); part < static_cast<std::size_t>(last); ++part) {
      const std::size_t begin = part == 0 ? 0 : ends[part - 1];
      tokenize_lines(tokenizer, text.substr(begin, ends[part] - begin), parts[part]);
    }
  });
  std::size_t count = 0;
  for (const Ids& part : parts) count += part.size();
  Ids tokens;
  tokens.reserve(count);
  for (Ids& part : parts) {
    tokens.insert(tokens.end(), part.begin(), part.end());
    Ids().swap(part);
  }
  return tokens;
}

class RunningText final : public Dataset {
 public:
  RunningText(const DataSettings& settings, Split split) : file_(find_text_file(settings, split, "text").string()) {
    const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(settings.vocab_path, TextCase::keep);
    info_ = tokens_info(settings.max_length, tokenizer->vocab_size());
    const DecodedText decoded = read_running_text(file_, settings.encoding);
    if (split == Split::train) notes_ = tokenizer->notes();
    if (!decoded.note.empty()) notes_.push_back(decoded.note);
    tokens_ = encode_text(*tokenizer, decoded.text);
    blocks_ = static_cast<std::int64_t>(tokens_.size()) / info_.max_length;
    if (blocks_ == 0) {
      fail("{}: has {} tokens, fewer than one block of data.max_length {}: a longer text or shorter blocks are needed",
           file_, tokens_.size(), info_.max_length);
    }
  }

  std::int64_t size() const override { return blocks_; }

  void load(std::int64_t index, SampleRandom, Scratch&, const SampleRow& out) const override {
    std::copy_n(tokens_.begin() + index * info_.max_length, info_.max_length,
                out.at<std::int32_t>(tensor_names::ids).begin());
    std::ranges::fill(out.at<std::int32_t>(tensor_names::token_types), 0);
    out.set<std::int32_t>(tensor_names::lengths, info_.max_length);
  }

  std::int32_t label(std::int64_t) const override { return 0; }
  SampleOrigin origin(std::int64_t index) const override { return {.file = file_, .record = index}; }
  std::uint64_t fingerprint() const override {
    return fnv1a64({reinterpret_cast<const char*>(tokens_.data()), tokens_.size() * sizeof tokens_[0]});
  }

 private:
  std::string file_;
  Ids tokens_;
  std::int64_t blocks_ = 0;
};

}  // namespace

fs::path find_text_file(const DataSettings& settings, Split split, std::string_view source) {
  const bool train = split == Split::train;
  const std::string& name = train ? settings.train_file : settings.dev_file;
  if (name.empty()) {
    fail_usage("data.{}: required by data.source {}: a file's name below data.path", train ? "train_file" : "dev_file",
               source);
  }
  return fs::path(settings.path) / name;
}

void require_text_vocabulary(const DataSettings& settings, std::string_view source) {
  constexpr std::array<std::string_view, 3> endings{".json", ".model", ".gguf"};
  if (std::ranges::find(endings, fs::path(settings.vocab_path).extension().string()) != endings.end()) return;
  fail_usage(
      "data.vocab: {}: data.source {} needs a byte-level BPE's vocab.json with merges.txt next to it, a "
      "tokenizer.json, SentencePiece's .model or a .gguf file",
      quoted_name(settings.vocab_path), source);
}

std::unique_ptr<Dataset> open_text(const DataSettings& settings, Split split) {
  require_path(settings, "text");
  require_text_vocabulary(settings, "text");
  return std::make_unique<RunningText>(settings, split);
}

}  // namespace ptrain
