// An all-reduce has two barriers: at the first every rank has published its buffer; then each rank sums its slice of
// all buffers and writes it to all of them; at the second all slices are done.
#include "core/comm/thread_transport.h"

#include "core/base/clock.h"
#include "core/base/host_name.h"
#include "core/base/rank_slice.h"
#include "core/comm/rank_failure.h"
#include "core/comm/reduce_in_order.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>

namespace ptrain {
namespace {

using Clock = std::chrono::steady_clock;

/// What a rank publishes at a barrier.
struct Offer {
  void* data = nullptr;
  std::int64_t size = 0;            // elements or bytes
  const AllToAll* parts = nullptr;  // instead of data
};

/// State shared by all ranks.
struct Group {
  explicit Group(int world_size)
      : activities(static_cast<std::size_t>(world_size)),
        offers(static_cast<std::size_t>(world_size)),
        arrived(static_cast<std::size_t>(world_size), false) {}

  int world_size() const { return static_cast<int>(activities.size()); }

  std::vector<RankActivity> activities;
  std::vector<Offer> offers;  // written before a barrier, read after it
  std::string host = host_name();

  std::mutex mutex;  // guards the rest
  std::condition_variable met;
  std::vector<bool> arrived;
  int waiting = 0;
  std::uint64_t meetings = 0;
  int readers = 0;  // ranks that may be accessing other ranks' buffers
  std::optional<RankFailure> failure;
};

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(std::shared_ptr<Group> group, int rank, double timeout_seconds)
      : group_(std::move(group)), rank_(rank), hang_detector_(group_->world_size(), timeout_seconds) {}

  int rank() const override { return rank_; }
  int world_size() const override { return group_->world_size(); }
  std::string_view engine() const override { return "threads"; }
  int host_index(int) const override { return 0; }
  int local_world_size() const override { return world_size(); }
  const std::string& rank_host(int) const override { return group_->host; }
  RankActivity& activity() override { return group_->activities[static_cast<std::size_t>(rank_)]; }

  Clock::time_point all_reduce(void* data, std::int64_t count, DType dtype, float factor) override {
    return reduce(data, count, dtype, factor, Sums::everywhere);
  }

  Clock::time_point reduce_slices(void* data, std::int64_t count, DType dtype, float factor) override {
    return reduce(data, count, dtype, factor, Sums::own);
  }

  Clock::time_point gather_slices(void* data, std::int64_t count, DType dtype) override {
    offer(data, count);
    const auto ready = Clock::now();
    const auto element = static_cast<std::int64_t>(element_size(dtype));
    for (int other = 0; other < world_size(); ++other) {
      const RankSlice slice = rank_slice(count, other, world_size());
      if (other == rank_ || slice.count() == 0) continue;
      const std::int64_t begin = slice.begin * element;
      std::memcpy(static_cast<std::byte*>(data) + begin,
                  static_cast<const std::byte*>(group_->offers[static_cast<std::size_t>(other)].data) + begin,
                  static_cast<std::size_t>(slice.count() * element));
    }
    meet();
    return ready;
  }

  Clock::time_point all_to_all(const AllToAll& exchange) override {
    group_->offers[static_cast<std::size_t>(rank_)].parts = &exchange;
    meet(Buffers::opened);
    const auto ready = Clock::now();
    const auto ranks = static_cast<std::size_t>(world_size());
    for (std::size_t i = 0; i < exchange.received.size(); ++i) {
      const AllToAll* offered = group_->offers[i % ranks].parts;
      const std::size_t own = i - i % ranks + static_cast<std::size_t>(rank_);
      const std::span<std::byte> to = exchange.received[i];
      if (offered == nullptr || own >= offered->sent.size() || offered->sent[own].size() != to.size()) {
        report_other_calls();
      }
      if (!to.empty()) std::memcpy(to.data(), offered->sent[own].data(), to.size());
    }
    meet();
    return ready;
  }

  void broadcast(std::span<std::byte> bytes, int root) override {
    offer(bytes.data(), static_cast<std::int64_t>(bytes.size()));
    if (rank_ != root && !bytes.empty()) {
      std::memcpy(bytes.data(), group_->offers[static_cast<std::size_t>(root)].data, bytes.size());
    }
    meet();
  }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    offer(const_cast<std::byte*>(mine.data()), static_cast<std::int64_t>(mine.size()));  // only read
    for (std::size_t i = 0; i < group_->offers.size() && !mine.empty(); ++i) {
      std::memcpy(all.data() + i * mine.size(), group_->offers[i].data, mine.size());
    }
    meet();
  }

  void barrier() override { meet(); }

  double exchange(int peer, std::span<const std::byte> mine, std::span<std::byte> theirs) override {
    offer(const_cast<std::byte*>(mine.data()), static_cast<std::int64_t>(mine.size()));  // only read
    const Stopwatch watch;
    double seconds = 0;
    if (peer != rank_) {
      std::memcpy(theirs.data(), group_->offers[static_cast<std::size_t>(peer)].data, theirs.size());
      seconds = watch.seconds();
    }
    meet();
    return seconds;
  }

  void idle() override {
    std::unique_lock lock(group_->mutex);
    throw_if_failed(lock);
  }

  void abort(const std::string& reason) override { fail_rank(rank_, fmt::format("failed: {}", reason)); }

  void finish() override {}

 private:
  /// Who gets a slice's sums: its rank alone, or every rank.
  enum class Sums { own, everywhere };

  Clock::time_point reduce(void* data, std::int64_t count, DType dtype, float factor, Sums where) {
    offer(data, count);
    const auto ready = Clock::now();
    const RankSlice slice = rank_slice(count, rank_, world_size());
    std::vector<void*>& places = places_;
    places.clear();
    for (const Offer& other : group_->offers) {
      places.push_back(static_cast<std::byte*>(other.data) +
                       slice.begin * static_cast<std::int64_t>(element_size(dtype)));
    }
    const std::span<void* const> own(&places[static_cast<std::size_t>(rank_)], 1);
    reduce_in_order({places.data(), places.size()}, where == Sums::own ? own : places, slice.count(), dtype, factor);
    meet();
    return ready;
  }

  /// Only after every rank has left the others' buffers: the caller may then free its own.
  void throw_if_failed(std::unique_lock<std::mutex>& lock) const {
    if (!group_->failure) return;
    wait_for_readers(lock);
    throw *group_->failure;
  }

  void wait_for_readers(std::unique_lock<std::mutex>& lock) const {
    group_->met.wait(lock, [this] { return group_->readers == 0; });
  }

  void fail_rank(int rank, const std::string& what) {
    const std::lock_guard lock(group_->mutex);
    set_failure(rank, what);
  }
  /// Only the first failure is kept; the caller holds the mutex.
  void set_failure(int rank, const std::string& what) {
    if (group_->failure) return;
    const std::string last = group_->activities[static_cast<std::size_t>(rank)].text();
    group_->failure.emplace(rank, fmt::format("rank {} on {} {}; it last did: {}", rank, group_->host, what, last));
    group_->met.notify_all();
  }

  void offer(void* data, std::int64_t size) {
    group_->offers[static_cast<std::size_t>(rank_)] = {data, size, nullptr};
    meet(Buffers::opened);
    if (group_->offers[0].size != size || group_->offers[0].parts != nullptr) report_other_calls();
  }

  [[noreturn]] void report_other_calls() {
    constexpr const char* what = "internal error: the ranks make different collective calls";
    std::unique_lock lock(group_->mutex);
    leave_buffers();
    set_failure(rank_, fmt::format("failed: {}", what));
    wait_for_readers(lock);
    throw std::logic_error(what);
  }

  /// The caller holds the mutex.
  void leave_buffers() {
    if (!reading_) return;
    reading_ = false;
    if (--group_->readers == 0) group_->met.notify_all();
  }

  /// Whether ranks access each other's buffers between this barrier and the next.
  enum class Buffers { closed, opened };

  void meet(Buffers after = Buffers::closed) {
    std::unique_lock lock(group_->mutex);
    leave_buffers();
    throw_if_failed(lock);
    const std::uint64_t meeting = group_->meetings;
    group_->arrived[static_cast<std::size_t>(rank_)] = true;
    if (++group_->waiting == world_size()) {
      group_->waiting = 0;
      std::fill(group_->arrived.begin(), group_->arrived.end(), false);
      ++group_->meetings;
      if (after == Buffers::opened) group_->readers = world_size();
      group_->met.notify_all();
    }
    hang_detector_.restart();
    while (group_->meetings == meeting) {
      throw_if_failed(lock);
      if (group_->met.wait_for(lock, std::chrono::milliseconds(100)) == std::cv_status::timeout)
        look_for_the_missing(lock);
    }
    reading_ = after == Buffers::opened;
  }

  void look_for_the_missing(std::unique_lock<std::mutex>& lock) {
    for (int rank = 0; rank < world_size(); ++rank) {
      if (group_->arrived[static_cast<std::size_t>(rank)]) continue;
      const RankActivity& other = group_->activities[static_cast<std::size_t>(rank)];
      if (!hang_detector_.has_hung(rank, other.progress.load(), other.busy.load() > 0)) continue;
      set_failure(rank, fmt::format("has kept the others waiting for {:g} s", hang_detector_.timeout_seconds()));
      throw_if_failed(lock);
    }
  }

  std::shared_ptr<Group> group_;
  int rank_;
  HangDetector hang_detector_;
  bool reading_ = false;
  std::vector<void*> places_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_thread_transports(int world_size, double timeout_seconds) {
  const auto group = std::make_shared<Group>(world_size);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int rank = 0; rank < world_size; ++rank) {
    transports.push_back(std::make_unique<ThreadTransport>(group, rank, timeout_seconds));
  }
  return transports;
}

}  // namespace ptrain
