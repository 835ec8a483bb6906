#include "core/base/crowding.h"

#include "core/base/errors.h"
#include "core/base/parallel.h"
#include "core/base/threads.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>

namespace ptrain {
namespace {

/// Of a thread, in ns: how long it has run, and how long it has been ready to run without a core.
struct ThreadTimes {
  std::int64_t ran = 0, waited = 0;
};

/// Those of this thread; none where the kernel does not say.
std::optional<ThreadTimes> read_thread_times() {
  std::array<char, 64> text;
  const int file = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  const ssize_t count = ::read(file, text.data(), text.size());
  ::close(file);
  const char* const end = text.data() + std::max<ssize_t>(0, count);
  ThreadTimes times;
  const auto [after, error] = std::from_chars(text.data(), end, times.ran);
  if (error != std::errc() || after == end) return std::nullopt;
  if (std::from_chars(after + 1, end, times.waited).ec != std::errc()) return std::nullopt;
  return times;
}

}  // namespace

/// A thread whose OpenMP team sleeps for as long as it lives.
class Crowding::IdleTeam {
 public:
  explicit IdleTeam(int threads) : thread_(start_thread([this, threads] { idle(threads); })) {}
  ~IdleTeam() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  IdleTeam(const IdleTeam&) = delete;
  IdleTeam& operator=(const IdleTeam&) = delete;

  bool is_here() const { return process_ == ::getpid(); }
  static bool can_help() {
    return std::getenv("GOMP_SPINCOUNT") == nullptr && std::getenv("OMP_WAIT_POLICY") == nullptr;
  }

 private:
  void idle(int threads) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    set_thread_count(threads);  // runs a parallel region, which starts the team
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_; });
  }

  const pid_t process_ = ::getpid();
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;
};

std::shared_ptr<Crowding::IdleTeam> Crowding::share_idle_team() {
  static std::mutex mutex;
  static auto& shared = *new std::weak_ptr<IdleTeam>;  // outlives sessions that are closed at the program's end
  static pid_t process = ::getpid();
  constexpr int most = 64;
  const int size = omp_get_num_procs() - thread_count() + 2;  // itself, and one more than there are cores without it
  if (size > most || size < 2 || !IdleTeam::can_help()) return {};
  const std::lock_guard lock(mutex);
  if (process != ::getpid()) return {};  // libgomp still counts the threads that the parent had
  std::shared_ptr<IdleTeam> team = shared.lock();
  if (!team) {  // in a forked process its thread is the parent's, and nothing ends it
    team = {new IdleTeam(size), [](IdleTeam* ended) {
              if (ended->is_here()) delete ended;
            }};
    shared = team;
  }
  return team;
}

bool Crowding::shortens_spinning() const {
  const std::lock_guard lock(mutex_);
  return team_ != nullptr;
}

void Crowding::observe() {
  using namespace std::chrono_literals;
  thread_local Clock::time_point seen;  // when this thread was last looked at
  thread_local ThreadTimes before;      // those of then; none of a thread that begins to compute
  if (thread_count() == 1) return;
  const auto now = Clock::now();
  if (now - seen < 200ms) return;  // a slice given to others now and then is no crowd
  const std::optional<ThreadTimes> times = read_thread_times();
  if (!times) return;
  const auto ran = static_cast<double>(times->ran - before.ran);
  const auto waited = static_cast<double>(times->waited - before.waited);
  constexpr double share = 0.25;
  seen = now;
  before = *times;
  const std::lock_guard lock(mutex_);
  if (waited > share * (ran + waited)) crowded_ = now;
  if (crowded_ == Clock::time_point{} || now - crowded_ > 1s) return team_.reset();
  try {
    if (!team_) team_ = share_idle_team();
  } catch (const Error&) {  // no thread can be started: they keep spinning
  }
}

}  // namespace ptrain
