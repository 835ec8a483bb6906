// Session logs as sequences of items, of which each one's next is learnt. Items are numbered in the order in which the
// training file first has them.
#include "core/base/counted.h"
#include "core/base/hash.h"
#include "core/data/sources.h"
#include "core/data/table/session_log.h"
#include "core/data/tensor_names.h"
#include "core/data/text/text_encoding.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <unordered_map>

namespace ptrain {
namespace {

using Vocabulary = std::unordered_map<std::string, std::int32_t>;

std::vector<Session> read_sessions(const std::string& file) {
  return parse_session_log(decode_text(read_file(file), file, TextEncoding::automatic).text, file);
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
    add_notes();
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(pieces_.size()); }

  void load(std::int64_t index, SampleRandom, Scratch&, const SampleRow& out) const override {
    const Piece& piece = at(index);
    const std::span<std::int32_t> ids = out.at<std::int32_t>(tensor_names::ids);
    std::ranges::fill(ids, 0);
    std::copy_n(items_.begin() + static_cast<std::ptrdiff_t>(piece.begin), piece.length, ids.begin());
    std::ranges::fill(out.at<std::int32_t>(tensor_names::token_types), 0);
    out.set(tensor_names::lengths, piece.length);
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
};

}  // namespace

std::unique_ptr<Dataset> open_sessions(const DataSettings& settings, Split split) {
  require_path(settings, "sessions");
  return std::make_unique<SessionDataset>(settings, split);
}

}  // namespace ptrain
