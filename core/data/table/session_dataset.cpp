// Session logs as sequences of items, of which each one's next is learnt. Items are numbered in the order in which the
// training file first has them.
#include "core/base/counted.h"
#include "core/base/hash.h"
#include "core/data/sources.h"
#include "core/data/table/session_log.h"
#include "core/data/tensor_names.h"
#include "core/data/text/text_encoding.h"
#include "core/io/atomic_file.h"
#include "core/io/packed_file.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace ptrain {
namespace {

using Vocabulary = std::unordered_map<std::string, std::int32_t>;

std::vector<Session> read_sessions(const std::string& file) {
  return parse_session_log(decode_text(read_unpacked_file(file), file, TextEncoding::automatic).text, file);
}

Vocabulary number_items(const std::vector<Session>& sessions) {
  Vocabulary items;
  for (const Session& session : sessions) {
    for (const std::string& item : session.items) items.try_emplace(item, static_cast<std::int32_t>(items.size()));
  }
  return items;
}

class SessionDataset final : public Dataset {
 public:
  SessionDataset(const DataSettings& settings, Split split)
      : file_(find_text_file(settings, split, "sessions").string()) {
    std::vector<Session> sessions = read_sessions(find_text_file(settings, Split::train, "sessions").string());
    const Vocabulary items = number_items(sessions);
    info_ = tokens_info(settings.max_length, static_cast<int>(items.size()));
    if (info_.max_length < 2) fail_usage("data.max_length: expected at least 2 items, of which one is learnt");
    if (split == Split::eval) sessions = read_sessions(file_);
    for (const Session& session : sessions) add(session, items);
    if (pieces_.empty()) fail("{}: has no session of two items that the training file has", file_);
    if (split == Split::train && settings.negatives > 0) {
      negatives_ = settings.negatives;
      count_shares(items.size(), settings.negative_power);
    }
    add_notes();
  }

  std::vector<TensorSpec> tensors(const ImageForm& form) const override {
    std::vector<TensorSpec> specs = Dataset::tensors(form);
    if (negatives_ == 0) return specs;
    specs.push_back({tensor_names::sampled_items, DType::i32, {negatives_}});
    specs.push_back({tensor_names::sampled_shares, DType::f32, {negatives_}});
    specs.push_back({tensor_names::next_shares, DType::f32, {info_.max_length}});
    return specs;
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(pieces_.size()); }

  void load(std::int64_t index, SampleRandom random, Scratch&, const SampleRow& out) const override {
    const Piece& piece = at(index);
    const std::span<std::int32_t> ids = out.at<std::int32_t>(tensor_names::ids);
    std::ranges::fill(ids, 0);
    std::copy_n(items_.begin() + static_cast<std::ptrdiff_t>(piece.begin), piece.length, ids.begin());
    std::ranges::fill(out.at<std::int32_t>(tensor_names::token_types), 0);
    out.set(tensor_names::lengths, piece.length);
    if (negatives_ > 0) draw_items(piece, random.in(DataStream::negatives), out);
  }

  std::int32_t label(std::int64_t) const override { return 0; }
  SampleOrigin origin(std::int64_t index) const override { return {.file = file_, .line = at(index).line}; }
  std::uint64_t fingerprint() const override {
    std::uint64_t hash = fnv1a64({reinterpret_cast<const char*>(items_.data()), items_.size() * sizeof items_[0]});
    for (const Piece& piece : pieces_) hash = fnv1a64(std::to_string(piece.length), hash);
    return hash;
  }

 private:
  /// Of a session: the last item of a piece is the first of the next, so that each item but the first is learnt once.
  struct Piece {
    std::size_t begin;
    std::int32_t length;
    std::int64_t line;
  };

  /// How often each item occurs, and how often it is to be drawn.
  void count_shares(std::size_t items, double power) {
    std::vector<double> counts(items);
    for (const std::int32_t item : items_) ++counts[static_cast<std::size_t>(item)];
    double sum = 0;
    for (const double count : counts) {
      sum += count == 0 ? 0 : std::pow(count, power);
      sums_.push_back(sum);
    }
    for (std::size_t item = 0; item < items; ++item) {
      const double drawn = sums_[item] - (item == 0 ? 0 : sums_[item - 1]);
      shares_.push_back(static_cast<float>(std::log(counts[item] / static_cast<double>(items_.size()))));
      drawn_shares_.push_back(static_cast<float>(std::log(drawn / sum)));
    }
  }

  void draw_items(const Piece& piece, SampleRandom random, const SampleRow& out) const {
    const auto items = out.at<std::int32_t>(tensor_names::sampled_items);
    const auto drawn = out.at<float>(tensor_names::sampled_shares), next = out.at<float>(tensor_names::next_shares);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const double at = static_cast<double>(random.uniform()) * sums_.back();
      const auto found = std::ranges::upper_bound(sums_, at);
      const auto item = static_cast<std::size_t>(std::min(found, sums_.end() - 1) - sums_.begin());
      items[i] = static_cast<std::int32_t>(item);
      drawn[i] = drawn_shares_[item];
    }
    std::ranges::fill(next, 0.0f);
    for (std::size_t i = 1; i < static_cast<std::size_t>(piece.length); ++i) {
      next[i - 1] = shares_[static_cast<std::size_t>(items_[piece.begin + i])];
    }
  }

  const Piece& at(std::int64_t index) const { return pieces_[static_cast<std::size_t>(index)]; }

  void add(const Session& session, const Vocabulary& items) {
    const std::size_t begin = items_.size();
    for (const std::string& item : session.items) {
      const auto known = items.find(item);
      if (known != items.end()) items_.push_back(known->second);
      unknown_ += known == items.end() ? 1 : 0;
    }
    if (items_.size() - begin < 2) {
      items_.resize(begin);
      ++too_short_;
      return;
    }
    const auto most = static_cast<std::size_t>(info_.max_length);
    for (std::size_t first = begin; first + 1 < items_.size(); first += most - 1) {
      pieces_.push_back({first, static_cast<std::int32_t>(std::min(most, items_.size() - first)), session.line});
    }
  }

  void add_notes() {
    if (unknown_ > 0) {
      notes_.push_back(fmt::format("{}: left out {} with an item that the training file does not have", file_,
                                   counted(unknown_, "row")));
    }
    if (too_short_ > 0) {
      notes_.push_back(fmt::format("{}: left out {} with fewer than two items", file_, counted(too_short_, "session")));
    }
  }

  std::string file_;
  std::vector<std::int32_t> items_;  // of all sessions
  std::vector<Piece> pieces_;
  std::int64_t unknown_ = 0, too_short_ = 0;
  int negatives_ = 0;
  std::vector<double> sums_;                  // of what items are drawn in proportion to, up to each
  std::vector<float> shares_, drawn_shares_;  // logarithms
};

}  // namespace

std::unique_ptr<Dataset> open_sessions(const DataSettings& settings, Split split) {
  require_path(settings, "sessions");
  return std::make_unique<SessionDataset>(settings, split);
}

}  // namespace ptrain
