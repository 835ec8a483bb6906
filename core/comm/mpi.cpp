// Collectives over MPI; sums are computed here, in rank order. Every call is non-blocking and polled, so that a waiting
// rank keeps watching the others (mpi_watch.h).
#include "core/comm/mpi.h"

#include "core/base/clock.h"
#include "core/base/rank_slice.h"
#include "core/comm/mpi_watch.h"
#include "core/comm/rank_failure.h"
#include "core/comm/reduce_in_order.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <thread>

namespace ptrain {
namespace {

using Clock = std::chrono::steady_clock;

/// MPI counts in int: larger buffers are exchanged in parts of this many bytes.
constexpr std::int64_t largest_part = std::int64_t{1} << 30;

constexpr int swap_tag = 2, parts_tag = 3;

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(double timeout_seconds) {
    int provided = 0;
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
    if (provided < MPI_THREAD_SERIALIZED)
      fail("this MPI library cannot be called from a thread (MPI_THREAD_SERIALIZED)");
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world_, &rank_);
    MPI_Comm_size(world_, &size_);
    watch_ = std::make_unique<MpiWatch>(timeout_seconds, activity_);
  }

  int rank() const override { return rank_; }
  int world_size() const override { return size_; }
  std::string_view engine() const override { return "mpi"; }
  int host_index(int rank) const override { return watch_->host_index(rank); }
  int local_world_size() const override { return watch_->local_world_size(); }
  const std::string& rank_host(int rank) const override { return watch_->rank_host(rank); }
  RankActivity& activity() override { return activity_; }

  Clock::time_point all_reduce(void* data, std::int64_t count, DType dtype, float factor) override {
    barrier();
    const auto ready = Clock::now();
    const auto element = static_cast<std::int64_t>(element_size(dtype));
    const std::int64_t most = largest_part / element;
    for (std::int64_t first = 0; first < count; first += most) {
      std::byte* const part = static_cast<std::byte*>(data) + first * element;
      reduce_part(part, std::min(most, count - first), dtype, factor);
      gather_part(part);
    }
    return ready;
  }

  Clock::time_point reduce_slices(void* data, std::int64_t count, DType dtype, float factor) override {
    barrier();
    const auto ready = Clock::now();
    invariant(count * static_cast<std::int64_t>(element_size(dtype)) <= largest_part,
              "a buffer of slices is larger than MPI counts");
    reduce_part(static_cast<std::byte*>(data), count, dtype, factor);
    return ready;
  }

  Clock::time_point gather_slices(void* data, std::int64_t count, DType dtype) override {
    barrier();
    const auto ready = Clock::now();
    const auto element = static_cast<std::int64_t>(element_size(dtype));
    invariant(count * element <= largest_part, "a buffer of slices is larger than MPI counts");
    set_slices(count, element);
    gather_part(data);
    return ready;
  }

  Clock::time_point all_to_all(const AllToAll& exchange) override {
    barrier();
    const auto ready = Clock::now();
    requests_.clear();
    for (int step = 0; step < size_; ++step) {  // every rank begins with another, so that none is sent to by all
      const int to = (rank_ + step) % size_, from = (rank_ - step + size_) % size_;
      for (std::size_t part = 0; part < exchange.sent.size(); part += static_cast<std::size_t>(size_)) {
        swap_part(exchange.sent[part + static_cast<std::size_t>(to)], to,
                  exchange.received[part + static_cast<std::size_t>(from)], from);
      }
    }
    for (MPI_Request& request : requests_) wait(request);
    return ready;
  }

  void broadcast(std::span<std::byte> bytes, int root) override {
    watch_->begin_operation();
    for_parts(bytes.size(), [&](std::size_t first, int part) {
      MPI_Request request;
      check_mpi(MPI_Ibcast(bytes.data() + first, part, MPI_BYTE, root, world_, &request), "MPI_Ibcast");
      wait(request);
    });
  }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    watch_->begin_operation();
    const int bytes = static_cast<int>(mine.size());
    MPI_Request request;
    check_mpi(MPI_Iallgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, world_, &request),
              "MPI_Iallgather");
    wait(request);
  }

  void barrier() override {
    watch_->begin_operation();
    MPI_Request request;
    check_mpi(MPI_Ibarrier(world_, &request), "MPI_Ibarrier");
    wait(request);
  }

  double exchange(int peer, std::span<const std::byte> mine, std::span<std::byte> theirs) override {
    watch_->begin_operation();
    if (peer == rank_) return 0;
    std::byte greeting{};
    swap(peer, {&greeting, 1}, {&greeting_, 1});
    const Stopwatch watch;
    swap(peer, mine, theirs);
    return watch.seconds();
  }

  void idle() override { watch_->look(MpiWatch::Waiting::no); }
  void abort(const std::string& reason) override { watch_->give_up(reason); }

  /// MPI_Finalize returns after every rank has called it, so no regular exit is mistaken for a crash.
  void finish() override {
    watch_->end();
    MPI_Comm_free(&world_);
    MPI_Finalize();
  }

 private:
  /// Calls exchange(first byte, bytes) for parts of a size that MPI counts.
  template <typename Exchange>
  static void for_parts(std::size_t bytes, Exchange exchange) {
    for (std::size_t first = 0; first < bytes; first += largest_part) {
      exchange(first, static_cast<int>(std::min<std::size_t>(largest_part, bytes - first)));
    }
  }

  /// Starts to send and to receive; what this rank sends itself is copied.
  void swap_part(std::span<const std::byte> sent, int to, std::span<std::byte> received, int from) {
    if (to == rank_) {
      invariant(sent.size() == received.size(), "a rank sends itself other bytes than it receives");
      if (!sent.empty()) std::memcpy(received.data(), sent.data(), sent.size());
      return;
    }
    for_parts(received.size(), [&](std::size_t first, int bytes) {
      check_mpi(MPI_Irecv(received.data() + first, bytes, MPI_BYTE, from, parts_tag, world_, &requests_.emplace_back()),
                "MPI_Irecv");
    });
    for_parts(sent.size(), [&](std::size_t first, int bytes) {
      check_mpi(MPI_Isend(sent.data() + first, bytes, MPI_BYTE, to, parts_tag, world_, &requests_.emplace_back()),
                "MPI_Isend");
    });
  }

  /// Sums this rank's slice.
  void reduce_part(std::byte* data, std::int64_t count, DType dtype, float factor) {
    const auto element = static_cast<std::int64_t>(element_size(dtype));
    const RankSlice own = rank_slice(count, rank_, size_);
    const std::int64_t own_bytes = own.count() * element;
    set_slices(count, element);
    received_.resize(static_cast<std::size_t>(own_bytes * size_));
    for (int r = 0; r < size_; ++r) {
      own_bytes_[static_cast<std::size_t>(r)] = static_cast<int>(own_bytes);
      own_offsets_[static_cast<std::size_t>(r)] = static_cast<int>(own_bytes * r);
    }
    MPI_Request request;
    check_mpi(MPI_Ialltoallv(data, slice_bytes_.data(), slice_offsets_.data(), MPI_BYTE, received_.data(),
                             own_bytes_.data(), own_offsets_.data(), MPI_BYTE, world_, &request),
              "MPI_Ialltoallv");
    wait(request);
    sources_.clear();
    for (int r = 0; r < size_; ++r) sources_.push_back(received_.data() + own_bytes * r);
    void* const sum = data + own.begin * element;
    reduce_in_order(sources_, {&sum, 1}, own.count(), dtype, factor);
  }

  /// Of slices as set_slices divides them.
  void gather_part(void* data) {
    MPI_Request request;
    check_mpi(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, slice_bytes_.data(), slice_offsets_.data(),
                              MPI_BYTE, world_, &request),
              "MPI_Iallgatherv");
    wait(request);
  }

  void set_slices(std::int64_t count, std::int64_t element) {
    for (std::vector<int>* list : {&slice_bytes_, &slice_offsets_, &own_bytes_, &own_offsets_}) {
      list->resize(static_cast<std::size_t>(size_));
    }
    for (int r = 0; r < size_; ++r) {
      const RankSlice slice = rank_slice(count, r, size_);
      slice_bytes_[static_cast<std::size_t>(r)] = static_cast<int>(slice.count() * element);
      slice_offsets_[static_cast<std::size_t>(r)] = static_cast<int>(slice.begin * element);
    }
  }

  void swap(int peer, std::span<const std::byte> mine, std::span<std::byte> theirs) {
    constexpr int timed_polls = 20'000;  // a sleep would count as transfer
    MPI_Request receiving, sending;
    check_mpi(MPI_Irecv(theirs.data(), static_cast<int>(theirs.size()), MPI_BYTE, peer, swap_tag, world_, &receiving),
              "MPI_Irecv");
    check_mpi(MPI_Isend(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, peer, swap_tag, world_, &sending),
              "MPI_Isend");
    wait(receiving, timed_polls);
    wait(sending, timed_polls);
  }

  /// Polls without a pause at first, for operations of microseconds, then with short sleeps that free the core.
  void wait(MPI_Request& request, int eager_polls = 50) {
    watch_->begin_wait();
    for (int poll = 0;; ++poll) {
      int done = 0;
      check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done != 0) return;
      watch_->look(MpiWatch::Waiting::yes);
      if (poll < eager_polls) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }

  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  RankActivity activity_;
  std::unique_ptr<MpiWatch> watch_;
  std::vector<std::byte> received_;
  std::byte greeting_{};
  std::vector<int> slice_bytes_, slice_offsets_, own_bytes_, own_offsets_;
  std::vector<const void*> sources_;
  std::vector<MPI_Request> requests_;
};

}  // namespace

std::string mpi_unavailable_reason() { return {}; }

std::unique_ptr<Transport> make_mpi_transport(double timeout_seconds) {
  return std::make_unique<MpiTransport>(timeout_seconds);
}

}  // namespace ptrain
