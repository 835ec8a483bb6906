// Joins requests that wait at the same time into batches, which one thread computes.
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
  std::int64_t most = 32;   // inputs of a batch
  double max_delay_ms = 2;  // that a request waits for others to join it
  std::size_t queue = 128;  // requests that may wait
};

/// More wait than may, or the server is ending.
class QueueFull : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Batcher {
 public:
  /// Scores of the rows of a batch that count.
  using Answerer = std::function<Batch(Batch& batch)>;

  /// `start` runs in the thread that computes, before anything else does. Metrics outlive it. Throws what `start`
  /// throws, Error{failed} where the system grants no thread.
  Batcher(Answerer answer, const std::function<void()>& start, const BatcherOptions& options, ServeMetrics& metrics);
  /// Answers what waits first.
  ~Batcher();
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  /// Scores of the batch's rows, at most options.most of them; waits. Throws QueueFull, or what computing threw.
  Batch submit(Batch batch);
  std::size_t queue_length() const;
  /// From now on no request waits for others to join it.
  void drain();

 private:
  using Clock = std::chrono::steady_clock;
  struct Request {
    Batch batch;
    Clock::time_point arrived;
    std::promise<Batch> scores;
  };

  void work();
  /// The requests of the next batch; none when the last has been answered.
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
