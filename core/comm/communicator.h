// A rank's communication with the others: a background thread exchanges what the training thread submits.
#pragma once

#include "core/comm/rank_failure.h"
#include "core/comm/transport.h"
#include "core/exec/collectives.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

namespace ptrain {

/// Time and volume of exchanges since the start. A transfer begins when all ranks have arrived.
struct ExchangeTimes {
  std::int64_t all_reduces =
      0;                        // and reduce-scatters and all-gathers, the two halves of an all-reduce, and all-to-alls
  double bytes = 0;             // of the buffers; those of halves, and what all-to-alls send, count half
  double transfer_seconds = 0;  // exchanges in progress, waited for or not
  double exposed_seconds = 0;   // the part of it that the training thread waited for
  double waited_seconds = 0;    // waits of the training thread: exposed transfer, and waiting for slower ranks

  ExchangeTimes operator-(const ExchangeTimes& before) const;
};

struct CommunicatorOptions {
  /// Seconds after a failure within which the training thread must notice it; then `on_unresponsive` is called with the
  /// failure's message and should end the process. Without it there is no limit.
  double grace_seconds = 0;
  std::function<void(const std::string&)> on_unresponsive = {};
};

/// Only the training thread makes non-const calls; all ranks make the collective ones in the same order. After a rank
/// has failed every call throws its RankFailure.
class Communicator final : public HostCollectives {
 public:
  explicit Communicator(std::unique_ptr<Transport> transport, CommunicatorOptions options = {});
  /// After close(), or when the run is abandoned.
  ~Communicator() override;

  int rank() const override { return transport_->rank(); }
  int world_size() const override { return transport_->world_size(); }
  const Transport& transport() const { return *transport_; }
  /// Index among the ranks of this host: the device that this rank uses.
  int local_rank() const;

  void start_all_reduce(void* data, std::int64_t count, DType dtype, float factor) override;
  void start_reduce_scatter(void* data, std::int64_t count, DType dtype, float factor) override;
  void start_all_gather(void* data, std::int64_t count, DType dtype) override;
  void start_all_to_all(AllToAll&& exchange) override;
  void wait_all_reduces() override;
  void note_progress() override { activity_.progress.fetch_add(1, std::memory_order_relaxed); }

  std::string_view engine() const override { return transport_->engine(); }
  std::shared_ptr<void> on_failure(std::function<void()> call) override {
    return std::make_shared<OnFailure>(*this, [call = std::move(call)](const RankFailure*) { call(); });
  }

  /// Transport::exchange.
  double exchange(int peer, std::span<const std::byte> mine, std::span<std::byte> theirs);
  void broadcast(std::span<std::byte> bytes, int root) override;
  void barrier() override;
  /// Gathers every rank's values, by rank; the same number on each.
  void all_gather(std::span<const double> mine, std::span<double> all) { wait_for(start_gather(mine, all)); }
  /// Starts that; `all` holds the values after wait_for() of what is returned. Until then both must stay.
  std::int64_t start_gather(std::span<const double> mine, std::span<double> all);
  void wait_for(std::int64_t started);
  /// Sends the text of `root` to every rank.
  std::string broadcast_text(const std::string& text, int root);

  /// Sets this rank's current activity: `action` is a literal, `step` counts from 1.
  void note(const char* action, std::int64_t step);
  /// While one exists, this rank may take any time without counting as hung.
  class [[nodiscard]] BusyScope {
   public:
    explicit BusyScope(Communicator* communicator, const char* action);
    ~BusyScope();
    BusyScope(const BusyScope&) = delete;
    BusyScope& operator=(const BusyScope&) = delete;

   private:
    Communicator* communicator_;
  };

  ExchangeTimes times() const;

  /// While one exists, the exchange thread makes `call` once when it gives up, before a call here throws for it: the
  /// training thread may be computing until a launcher ends the process, or be waiting elsewhere for a rank that is
  /// gone. `lost` is the failure of another rank; null when this one ends by itself. The latest registered call runs
  /// first; calls must not throw.
  class [[nodiscard]] OnFailure {
   public:
    using Call = std::function<void(const RankFailure* lost)>;
    OnFailure(Communicator& communicator, Call call);
    ~OnFailure();
    OnFailure(const OnFailure&) = delete;
    OnFailure& operator=(const OnFailure&) = delete;

   private:
    Communicator& communicator_;
    std::list<Call>::iterator place_;
  };

  /// Informs the others that this rank ends with an error, and stops exchanging.
  void abort(const std::string& reason);
  /// Regular end: waits for the other ranks to get here.
  void close();

 private:
  struct Exchange {
    enum class Kind { all_reduce, reduce_scatter, all_gather, all_to_all, other };
    Kind kind = Kind::other;
    void* data = nullptr;
    std::int64_t count = 0;
    DType dtype = DType::f32;
    float factor = 1;                  // of sums
    std::function<void()> other = {};  // runs instead of them
    AllToAll parts = {};

    double bytes() const;
  };

  void exchange_all();
  void run(const Exchange& exchange);
  /// Returns the exchange's number.
  std::int64_t enqueue(Exchange exchange);
  void wait_until_done(std::int64_t number, std::unique_lock<std::mutex>& lock);
  void call(std::function<void()> collective);
  void count_transfer(std::chrono::steady_clock::time_point ready, const Exchange& exchange);
  void stop();

  void make_failure_calls(const std::exception_ptr& failure);
  void outlast_failure();

  std::unique_ptr<Transport> transport_;
  RankActivity& activity_;
  const CommunicatorOptions options_;

  std::mutex failure_calls_mutex_;  // held during the calls, so that none outlives its OnFailure
  std::list<OnFailure::Call> failure_calls_;

  mutable std::mutex mutex_;  // guards the rest
  std::condition_variable work_, done_;
  std::deque<Exchange> queue_;
  std::int64_t enqueued_ = 0, finished_ = 0;  // exchanges so far
  std::exception_ptr failure_;
  bool stopping_ = false;
  bool waiting_ = false;
  std::chrono::steady_clock::time_point waiting_since_;
  ExchangeTimes times_;
  std::thread thread_;
};

}  // namespace ptrain
