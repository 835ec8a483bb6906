#include "core/serve/batcher.h"

#include "core/base/threads.h"

#include <numeric>

namespace ptrain {
Batcher::Batcher(Answerer answer, const std::function<void()>& start, const BatcherOptions& options,
                 ServeMetrics& metrics)
    : answer_(std::move(answer)), options_(options), metrics_(metrics) {
  std::promise<void> started;
  worker_ = start_thread([this, &started, &start] {
    try {
      start();
      started.set_value();
    } catch (...) {
      started.set_exception(std::current_exception());
      return;
    }
    work();
  });
  try {
    started.get_future().get();
  } catch (...) {
    worker_.join();
    throw;
  }
}

Batcher::~Batcher() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

Batch Batcher::submit(Batch batch) {
  std::future<Batch> scores;
  {
    const std::lock_guard lock(mutex_);
    if (ending_) throw QueueFull("the server is shutting down");
    if (waiting_.size() >= options_.queue) {
      throw QueueFull(fmt::format("the queue is full: {} requests are waiting", waiting_.size()));
    }
    waiting_.push_back({std::move(batch), Clock::now(), {}});
    scores = waiting_.back().scores.get_future();
  }
  changed_.notify_all();
  return scores.get();
}

std::size_t Batcher::queue_length() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

void Batcher::drain() {
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
  }
  changed_.notify_all();
}

std::int64_t Batcher::inputs_waiting() const {
  return std::accumulate(waiting_.begin(), waiting_.end(), std::int64_t{0},
                         [](std::int64_t sum, const Request& request) { return sum + request.batch.count; });
}

std::vector<Batcher::Request> Batcher::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
  if (waiting_.empty()) return {};
  const auto delay =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(options_.max_delay_ms));
  changed_.wait_until(lock, waiting_.front().arrived + delay,
                      [this] { return draining_ || ending_ || inputs_waiting() >= options_.most; });
  std::vector<Request> requests;
  std::int64_t inputs = 0;
  while (!waiting_.empty() && inputs + waiting_.front().batch.count <= options_.most) {
    inputs += waiting_.front().batch.count;
    requests.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return requests;
}

void Batcher::predict_all(std::vector<Request> requests) {
  try {
    Batch batch = std::move(requests.front().batch);
    std::vector<std::int64_t> counts{batch.count};
    for (std::size_t i = 1; i < requests.size(); ++i) {
      batch.append(requests[i].batch);
      counts.push_back(requests[i].batch.count);
    }
    metrics_.count_batch(batch.count);
    const Batch scores = answer_(batch);
    std::int64_t from = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      requests[i].scores.set_value(scores.slice(from, counts[i]));
      from += counts[i];
    }
  } catch (...) {
    for (Request& request : requests) {
      try {
        request.scores.set_exception(std::current_exception());
      } catch (const std::future_error&) {  // already answered
      }
    }
  }
}

void Batcher::work() {
  for (auto requests = next(); !requests.empty(); requests = next()) predict_all(std::move(requests));
}

}  // namespace ptrain
