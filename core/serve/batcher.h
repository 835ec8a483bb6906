// Dynamic batching: joins requests that wait at the same time into batches, which one thread computes.
#pragma once

#include "core/data/batch.h"
#include "core/serve/serve_metrics.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <stdexcept>
#include <thread>

namespace ptrain {

struct BatcherOptions {
  std::int64_t most = 32;   // largest batch size
  double max_delay_ms = 2;  // longest wait for others to join a batch
  std::size_t queue = 128;  // largest number of waiting requests
};

/// The queue is full, or the server is shutting down.
class QueueFull : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Batcher {
 public:
  /// Computes the scores of a batch's valid rows.
  using Answerer = std::function<Batch(Batch& batch)>;

  /// `start` runs first in the computing thread. Metrics must outlive it. Throws what `start` throws, and Error{failed}
  /// if no thread can be created.
  Batcher(Answerer answer, const std::function<void()>& start, const BatcherOptions& options, ServeMetrics& metrics);
  /// Answers the waiting requests first.
  ~Batcher();
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  /// Computes the scores of the batch's rows, at most options.most; blocks. Throws QueueFull, or what computing threw.
  Batch submit(Batch batch);
  std::size_t queue_length() const;
  /// From now on no request waits for others to join its batch.
  void drain();

 private:
  using Clock = std::chrono::steady_clock;
  struct Request {
    Batch batch;
    Clock::time_point arrived;
    std::promise<Batch> scores;
  };

  void work();
  /// The requests of the next batch; empty after the last.
  std::vector<Request> next();
  std::int64_t inputs_waiting() const;
  void predict_all(std::vector<Request> requests);

  Answerer answer_;
  BatcherOptions options_;
  ServeMetrics& metrics_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Request> waiting_;
  bool draining_ = false, ending_ = false;
  std::thread worker_;
};

}  // namespace ptrain
