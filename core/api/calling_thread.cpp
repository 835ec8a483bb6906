#include "core/api/calling_thread.h"

#include "core/base/errors.h"
#include "core/base/parallel.h"
#include "core/base/threads.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <thread>

namespace ptrain::api {
namespace {

const pid_t loader = ::getpid();
std::atomic<int> computing{0};  // calls of all threads
std::atomic<bool> forked_in_a_call{false};
[[maybe_unused]] const int registered = ::pthread_atfork(nullptr, nullptr, [] {
  if (computing.exchange(0) > 0) forked_in_a_call = true;
});

class Call {
 public:
  Call() { ++computing; }
  ~Call() { --computing; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

}  // namespace

CallingThread::CallingThread(int threads) : threads_(omp_get_max_threads()), dynamic_(omp_get_dynamic()) {
  sigset_t all;
  sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&all, fault);
  pthread_sigmask(SIG_BLOCK, &all, &signals_);
  const int granted = set_thread_count(threads);
  if (granted == threads) return;
  restore();
  fail(
      "OpenMP grants {} of {} threads: a parallel region around the call, OMP_THREAD_LIMIT or a process limit "
      "prevents more; open the model with fewer threads",
      granted, threads);
}

void CallingThread::restore() {
  omp_set_num_threads(threads_);
  omp_set_dynamic(dynamic_);
  pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
}

class ComputingThread::Worker {
 public:
  Worker() : thread_(start_thread([this] { work(); })) {}
  ~Worker() {
    hand_over({});
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run(const std::function<void()>& body) {
    std::packaged_task<void()> task(body);
    std::future<void> done = task.get_future();
    hand_over(std::move(task));
    done.get();
  }
  bool is_here() const { return process_ == ::getpid(); }

 private:
  void hand_over(std::packaged_task<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      task_ = std::move(task);
      waiting_ = true;
    }
    changed_.notify_one();
  }
  void work() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);  // the program's own threads handle its signals
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return waiting_; });
      std::packaged_task<void()> task = std::move(task_);
      waiting_ = false;
      lock.unlock();
      if (!task.valid()) return;
      task();
    }
  }

  const pid_t process_ = ::getpid();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::packaged_task<void()> task_;  // an empty one ends the thread
  bool waiting_ = false;
  std::thread thread_;
};

ComputingThread::ComputingThread() = default;

ComputingThread::~ComputingThread() {
  if (worker_ && !worker_->is_here()) static_cast<void>(worker_.release());  // its thread is another process's
}

void ComputingThread::run(int threads, const std::function<void()>& body) {
  if (forked_in_a_call) {
    fail(
        "the process was forked while another of its threads computed in libptrain; start it anew (spawn, exec), or "
        "fork while no call is running");
  }
  const Call call;  // before the lock, so that a child never meets one that is held
  const std::lock_guard lock(running_);
  const auto compute = [&] {
    const CallingThread thread(threads);
    body();
  };
  if (::getpid() == loader) return compute();
  if (worker_ && !worker_->is_here()) static_cast<void>(worker_.release());
  if (!worker_) worker_ = std::make_unique<Worker>();
  worker_->run(compute);
}

}  // namespace ptrain::api
