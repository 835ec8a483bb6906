#include "core/comm/communicator.h"

#include "core/base/threads.h"

#include <algorithm>

namespace ptrain {
namespace {

using Clock = std::chrono::steady_clock;

double count_seconds(Clock::time_point begin, Clock::time_point end) {
  return std::max(0.0, std::chrono::duration<double>(end - begin).count());
}

}  // namespace

ExchangeTimes ExchangeTimes::operator-(const ExchangeTimes& before) const {
  return {all_reduces - before.all_reduces, bytes - before.bytes, transfer_seconds - before.transfer_seconds,
          exposed_seconds - before.exposed_seconds, waited_seconds - before.waited_seconds};
}

Communicator::Communicator(std::unique_ptr<Transport> transport, CommunicatorOptions options)
    : transport_(std::move(transport)), activity_(transport_->activity()), options_(std::move(options)) {
  thread_ = start_thread([this] { exchange_all(); });
}

Communicator::~Communicator() { stop(); }

void Communicator::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Communicator::exchange_all() {
  constexpr auto beat = std::chrono::milliseconds(100);
  std::unique_lock lock(mutex_);
  try {
    while (!stopping_) {
      if (!work_.wait_for(lock, beat, [this] { return stopping_ || !queue_.empty(); })) {
        lock.unlock();
        transport_->idle();
        lock.lock();
        continue;
      }
      if (stopping_) break;
      const Exchange next = std::move(queue_.front());
      lock.unlock();
      run(next);
      lock.lock();
      queue_.pop_front();
      ++finished_;
      done_.notify_all();
    }
  } catch (...) {
    if (lock.owns_lock()) lock.unlock();
    make_failure_calls(std::current_exception());
    lock.lock();
    failure_ = std::current_exception();
    lock.unlock();
    done_.notify_all();
    outlast_failure();
  }
}

void Communicator::make_failure_calls(const std::exception_ptr& failure) {
  const std::lock_guard lock(failure_calls_mutex_);
  const auto make = [this](const RankFailure* lost) {
    for (const OnFailure::Call& call : failure_calls_) call(lost);
  };
  try {
    std::rethrow_exception(failure);
  } catch (const RankFailure& lost) {
    make(lost.rank() != rank() ? &lost : nullptr);
  } catch (const std::exception&) {
    make(nullptr);
  }
}

void Communicator::outlast_failure() {
  if (!options_.on_unresponsive) return;
  std::unique_lock lock(mutex_);
  const auto grace = std::chrono::duration<double>(options_.grace_seconds);
  if (work_.wait_for(lock, grace, [this] { return stopping_; })) return;
  try {
    std::rethrow_exception(failure_);
  } catch (const std::exception& failure) {
    options_.on_unresponsive(failure.what());
  }
}

void Communicator::run(const Exchange& exchange) {
  switch (exchange.kind) {
    case Exchange::Kind::all_reduce:
      return count_transfer(transport_->all_reduce(exchange.data, exchange.count, exchange.dtype, exchange.factor),
                            exchange);
    case Exchange::Kind::reduce_scatter:
      return count_transfer(transport_->reduce_slices(exchange.data, exchange.count, exchange.dtype, exchange.factor),
                            exchange);
    case Exchange::Kind::all_gather:
      return count_transfer(transport_->gather_slices(exchange.data, exchange.count, exchange.dtype), exchange);
    case Exchange::Kind::all_to_all:
      count_transfer(transport_->all_to_all(exchange.parts), exchange);
      if (exchange.parts.then) exchange.parts.then();
      return;
    case Exchange::Kind::other:
      return exchange.other();
  }
}

double Communicator::Exchange::bytes() const {
  if (kind != Kind::all_to_all) return static_cast<double>(count) * static_cast<double>(element_size(dtype));
  double sent = 0;
  for (const auto& part : parts.sent) sent += static_cast<double>(part.size());
  return sent;
}

void Communicator::count_transfer(Clock::time_point ready, const Exchange& exchange) {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  ++times_.all_reduces;
  const double part = exchange.kind == Exchange::Kind::all_reduce ? 1.0 : 0.5;
  times_.bytes += part * exchange.bytes();
  times_.transfer_seconds += count_seconds(ready, now);
  if (waiting_) times_.exposed_seconds += count_seconds(std::max(ready, waiting_since_), now);
}

std::int64_t Communicator::enqueue(Exchange exchange) {
  note_progress();
  std::int64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    queue_.push_back(std::move(exchange));
    number = ++enqueued_;
  }
  work_.notify_one();
  return number;
}

int Communicator::local_rank() const {
  int before = 0;
  for (int other = 0; other < rank(); ++other) {
    if (transport_->host_index(other) == transport_->host_index(rank())) ++before;
  }
  return before;
}

void Communicator::start_all_reduce(void* data, std::int64_t count, DType dtype, float factor) {
  enqueue({Exchange::Kind::all_reduce, data, count, dtype, factor});
}

void Communicator::start_reduce_scatter(void* data, std::int64_t count, DType dtype, float factor) {
  enqueue({Exchange::Kind::reduce_scatter, data, count, dtype, factor});
}

void Communicator::start_all_gather(void* data, std::int64_t count, DType dtype) {
  enqueue({Exchange::Kind::all_gather, data, count, dtype});
}

void Communicator::start_all_to_all(AllToAll&& exchange) {
  enqueue({.kind = Exchange::Kind::all_to_all, .parts = std::move(exchange)});
}

void Communicator::wait_all_reduces() {
  std::unique_lock lock(mutex_);
  waiting_ = true;
  waiting_since_ = Clock::now();
  wait_until_done(enqueued_, lock);
  times_.waited_seconds += count_seconds(waiting_since_, Clock::now());
}

void Communicator::wait_until_done(std::int64_t number, std::unique_lock<std::mutex>& lock) {
  done_.wait(lock, [&] { return finished_ >= number || failure_; });
  waiting_ = false;
  if (failure_) std::rethrow_exception(failure_);
}

void Communicator::wait_for(std::int64_t started) {
  std::unique_lock lock(mutex_);
  wait_until_done(started, lock);
}

void Communicator::call(std::function<void()> collective) { wait_for(enqueue({.other = std::move(collective)})); }

void Communicator::broadcast(std::span<std::byte> bytes, int root) {
  call([&] { transport_->broadcast(bytes, root); });
}

double Communicator::exchange(int peer, std::span<const std::byte> mine, std::span<std::byte> theirs) {
  double seconds = 0;
  call([&] { seconds = transport_->exchange(peer, mine, theirs); });
  return seconds;
}

void Communicator::barrier() {
  call([&] { transport_->barrier(); });
}

std::int64_t Communicator::start_gather(std::span<const double> mine, std::span<double> all) {
  return enqueue({.other = [=, this] { transport_->all_gather(std::as_bytes(mine), std::as_writable_bytes(all)); }});
}

std::string Communicator::broadcast_text(const std::string& text, int root) {
  std::uint64_t size = text.size();
  broadcast(std::as_writable_bytes(std::span(&size, 1)), root);
  std::string result = rank() == root ? text : std::string(size, '\0');
  broadcast(std::as_writable_bytes(std::span(result)), root);
  return result;
}

void Communicator::note(const char* action, std::int64_t step) {
  activity_.action.store(action, std::memory_order_relaxed);
  activity_.step.store(step, std::memory_order_relaxed);
  note_progress();
}

Communicator::BusyScope::BusyScope(Communicator* communicator, const char* action) : communicator_(communicator) {
  if (communicator_ == nullptr) return;
  communicator_->activity_.action.store(action);
  communicator_->activity_.busy.fetch_add(1);
}

Communicator::BusyScope::~BusyScope() {
  if (communicator_ == nullptr) return;
  communicator_->note_progress();
  communicator_->activity_.busy.fetch_sub(1);
}

ExchangeTimes Communicator::times() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

Communicator::OnFailure::OnFailure(Communicator& communicator, Call call) : communicator_(communicator) {
  const std::lock_guard lock(communicator_.failure_calls_mutex_);
  place_ = communicator_.failure_calls_.insert(communicator_.failure_calls_.begin(), std::move(call));
}

Communicator::OnFailure::~OnFailure() {
  const std::lock_guard lock(communicator_.failure_calls_mutex_);
  communicator_.failure_calls_.erase(place_);
}

void Communicator::abort(const std::string& reason) {
  transport_->abort(reason);
  {
    // The exchange thread itself informs the others, and ends with the result.
    std::unique_lock lock(mutex_);
    done_.wait_for(lock, std::chrono::seconds(2), [this] { return failure_ != nullptr; });
  }
  stop();
}

void Communicator::close() {
  barrier();
  stop();
  transport_->finish();
}

}  // namespace ptrain
