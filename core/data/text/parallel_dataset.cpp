// Parallel text: two files of which the lines correspond, in the source and in the target language, with one
// vocabulary. A source is its tokens and the end token. The decoder reads the end token and then the translation, and
// predicts the translation and the end token (as in fairseq).
#include "core/base/counted.h"
#include "core/base/hash.h"
#include "core/base/parallel.h"
#include "core/data/sources.h"
#include "core/data/tensor_names.h"
#include "core/data/text/text_encoding.h"
#include "core/data/text/tokenizer.h"
#include "core/io/atomic_file.h"
#include "core/io/packed_file.h"

#include <algorithm>

namespace ptrain {
namespace {

using Ids = std::vector<std::int32_t>;

/// The lines of one language's file.
struct TextLines {
  std::string file, text;
  std::vector<std::string_view> lines;
};

std::vector<std::string_view> list_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t") == line.npos; }

struct SentencePair {
  std::size_t line = 0;  // from 0
  Ids source, target;    // without the end token
};

class ParallelText final : public Dataset {
 public:
  ParallelText(const DataSettings& settings, Split split)
      : tokenizer_(open_tokenizer(settings.vocab_path, TextCase::keep)), trains_(split == Split::train) {
    const std::string stem = find_text_file(settings, split, "parallel").string();
    read(settings, find_packed(stem + "." + settings.languages[0]).string(), source_);
    read(settings, find_packed(stem + "." + settings.languages[1]).string(), target_);
    if (source_.lines.size() != target_.lines.size()) {
      fail("{}: has {}, but {} has {}: expected the translation of a line on the line of the same number", source_.file,
           counted(std::ssize(source_.lines), "line"), target_.file, target_.lines.size());
    }
    info_ = parallel_info(settings.max_length, tokenizer_->vocab_size(), tokenizer_->end_id());
    if (trains_) std::ranges::copy(tokenizer_->notes(), std::back_inserter(notes_));
    keep_pairs();
    encode();
    fit_length();
    if (pairs_.empty())
      fail("{}: has no sentence with a translation to {}", source_.file, trains_ ? "learn" : "evaluate");
  }

  std::int64_t size() const override { return std::ssize(pairs_); }

  void load(std::int64_t index, SampleRandom, Scratch&, const SampleRow& out) const override {
    const SentencePair& pair = at(index);
    const std::int32_t end = tokenizer_->end_id();
    const std::span<std::int32_t> ids = out.at<std::int32_t>(tensor_names::ids);
    const std::span<std::int32_t> decoder = out.at<std::int32_t>(tensor_names::decoder_ids);
    const std::span<std::int32_t> next = out.at<std::int32_t>(tensor_names::next_tokens);
    std::ranges::fill(ids, 0);
    std::ranges::fill(decoder, 0);
    std::ranges::fill(next, -1);
    *std::ranges::copy(pair.source, ids.begin()).out = end;
    decoder.front() = end;
    std::ranges::copy(pair.target, decoder.begin() + 1);
    *std::ranges::copy(pair.target, next.begin()).out = end;
    out.set(tensor_names::lengths, static_cast<std::int32_t>(pair.source.size() + 1));
    out.set(tensor_names::decoder_lengths, static_cast<std::int32_t>(pair.target.size() + 1));
  }

  std::int32_t label(std::int64_t) const override { return 0; }
  SampleOrigin origin(std::int64_t index) const override {
    const std::size_t line = at(index).line;
    return {.file = source_.file,
            .line = static_cast<std::int64_t>(line) + 1,
            .text = std::string(source_.lines[line]),
            .second = std::string(target_.lines[line])};
  }
  std::optional<std::string> decode(std::span<const std::int32_t> ids) const override {
    return tokenizer_->decode(ids);
  }
  std::uint64_t fingerprint() const override {
    std::uint64_t hash = 0;
    for (const SentencePair& pair : pairs_) {
      for (const Ids* ids : {&pair.source, &pair.target}) {
        hash = hash * 31 + fnv1a64({reinterpret_cast<const char*>(ids->data()), ids->size() * sizeof(std::int32_t)});
      }
    }
    return hash;
  }

 private:
  void read(const DataSettings& settings, const std::string& file, TextLines& to) {
    DecodedText decoded = decode_text(read_unpacked_file(file), file, settings.encoding);
    if (!decoded.note.empty()) notes_.push_back(std::move(decoded.note));
    to = {file, std::move(decoded.text), {}};
    to.lines = list_lines(to.text);
  }

  const SentencePair& at(std::int64_t index) const { return pairs_[static_cast<std::size_t>(index)]; }

  /// Lines with a text in both languages.
  void keep_pairs() {
    for (std::size_t line = 0; line < source_.lines.size(); ++line) {
      if (!is_blank(source_.lines[line]) && !is_blank(target_.lines[line])) pairs_.push_back({line, {}, {}});
    }
    const auto blank = std::ssize(source_.lines) - std::ssize(pairs_);
    if (blank > 0)
      notes_.push_back(
          fmt::format("{}: {} left out, without a text in both languages", source_.file, counted(blank, "line")));
  }

  void encode() {
    parallel_for(std::ssize(pairs_), 256, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        SentencePair& pair = pairs_[i];
        tokenizer_->tokenize(source_.lines[pair.line], pair.source);
        tokenizer_->tokenize(target_.lines[pair.line], pair.target);
      }
    });
  }

  /// Pairs with a text longer than data.max_length are not learnt, since a cut source no longer has its translation; in
  /// evaluation, which counts every line, they are cut.
  void fit_length() {
    const auto most = static_cast<std::size_t>(info_.max_length) - 1;
    const auto is_long = [&](const SentencePair& pair) {
      return std::max(pair.source.size(), pair.target.size()) > most;
    };
    const auto count = std::ranges::count_if(pairs_, is_long);
    if (count == 0) return;
    notes_.push_back(fmt::format("{}: {} {} longer than data.max_length, {} tokens: {}", source_.file,
                                 counted(count, "pair"), count == 1 ? "is" : "are", info_.max_length,
                                 trains_ ? "left out" : "cut"));
    if (trains_) {
      std::erase_if(pairs_, is_long);
      return;
    }
    for (SentencePair& pair : pairs_) {
      for (Ids* ids : {&pair.source, &pair.target}) ids->resize(std::min(ids->size(), most));
    }
  }

  std::unique_ptr<Tokenizer> tokenizer_;
  bool trains_;
  TextLines source_, target_;
  std::vector<SentencePair> pairs_;
};

}  // namespace

std::unique_ptr<Dataset> open_parallel(const DataSettings& settings, Split split) {
  require_path(settings, "parallel");
  require_text_vocabulary(settings, "parallel");
  if (settings.languages.size() != 2) {
    fail_usage(
        "data.languages: expected [SOURCE, TARGET], the endings of the two languages' files such as [de, en], "
        "got {} of them",
        settings.languages.size());
  }
  return std::make_unique<ParallelText>(settings, split);
}

}  // namespace ptrain
