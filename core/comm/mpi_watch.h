// Failure detection for the processes of an MPI job: each sends rank 0 its activity five times a second, rank 0 informs
// all, and processes of one machine check each other in the process table. MPI itself would wait forever.
#pragma once

#include "core/comm/activity.h"

#include <mpi.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

/// Throws Error{failed} naming the call when `code` is an error.
void check_mpi(int code, const char* call);

/// Used by the exchange thread only, except give_up.
class MpiWatch {
 public:
  enum class Waiting { no, yes };

  /// Collective: all ranks exchange their identities.
  MpiWatch(double timeout_seconds, RankActivity& activity);
  ~MpiWatch();
  MpiWatch(const MpiWatch&) = delete;
  MpiWatch& operator=(const MpiWatch&) = delete;

  const std::string& rank_host(int rank) const { return peers_[static_cast<std::size_t>(rank)].host; }
  int host_index(int rank) const { return peers_[static_cast<std::size_t>(rank)].host_index; }
  int local_world_size() const;

  /// Enters the next collective operation; equal counts on all ranks mean the same operation.
  void begin_operation() { ++operations_; }
  void begin_wait() { hang_detector_.restart(); }
  /// Sends and receives messages and checks the others, at most ten times a second. `waiting`: for a collective
  /// operation, so that ranks that have not entered it count as late. Throws RankFailure.
  void look(Waiting waiting);
  /// Makes the next look() inform all others that this rank failed. Callable from any thread.
  void give_up(const std::string& reason);
  /// Regular end, when nothing more will be sent.
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  struct Message {
    int failed_rank;  // -1: a heartbeat
    int busy;
    std::uint64_t progress, operations;
    std::int64_t step;
    char action[96];
    char text[1024];  // the failure
  };
  /// A message in transit; it must not move in memory.
  struct Sending {
    Message message{};
    MPI_Request request = MPI_REQUEST_NULL;

    bool is_done();
  };
  struct Peer {
    std::string host, machine;
    int process = 0;
    int host_index = 0;
    Message last{};
    Clock::time_point heard;
    Sending sign_of_life, last_words;
  };

  void introduce();
  bool watches(int rank) const { return rank != rank_ && (rank_ == 0 || rank == 0); }
  void receive();
  void post_receive();
  void send(int to, Sending& sending, const Message& message);
  void send_heartbeats();
  void check_peers(Waiting waiting);
  /// Whether a watched rank has missed several heartbeats: others may then be waiting for it, and are not to blame.
  bool misses_a_rank() const;
  [[noreturn]] void fail_all(int failed_rank, const std::string& text);
  Message sign_of_life() const;
  std::string describe_rank(int rank) const;
  std::string last_deed(int rank) const;

  RankActivity& activity_;
  HangDetector hang_detector_;
  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::vector<Peer> peers_;
  Message incoming_{};
  MPI_Request receiving_ = MPI_REQUEST_NULL;
  std::uint64_t operations_ = 0;
  Clock::time_point looked_, last_heartbeat_;
  double stood_still_ = 0;  // seconds for which this process itself was suspended
  std::mutex mutex_;        // guards the reason
  std::optional<std::string> reason_;
};

}  // namespace ptrain
