#include "core/bench/child_process.h"

#include "core/base/clock.h"
#include "core/base/errors.h"
#include "core/base/signals.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace ptrain {
namespace {

constexpr double grace_seconds = 5;
constexpr auto poll_interval = std::chrono::milliseconds(10);
/// This process's environment with `added` (NAME=value) replacing entries of the same name.
std::vector<std::string> merge_environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!added.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : added) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

/// Null-terminated pointers for exec; valid as long as `words`.
std::vector<char*> make_pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Writes why to `failure` where it cannot.
[[noreturn]] void execute(const char* program, char* const* arguments, char* const* environment, int log, pid_t parent,
                          const char* folder, int failure) {
  setpgid(0, 0);
  unblock_signals();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = open("/dev/null", O_RDONLY);
  const bool ready = getppid() == parent && (*folder == '\0' || chdir(folder) == 0) && nothing >= 0 &&
                     dup2(nothing, STDIN_FILENO) >= 0 && dup2(log, STDOUT_FILENO) >= 0 && dup2(log, STDERR_FILENO) >= 0;
  if (ready) execve(program, arguments, environment);
  const int reason = errno;
  const bool sent = write(failure, &reason, sizeof reason) == sizeof reason;
  _exit(sent ? EXIT_FAILURE : 127);
}

/// Waits until the program has started, which closes the other end of the pipe. Returns 0, or why it could not.
int await_start(int failure) {
  int reason = 0;
  ssize_t count = 0;
  do {
    count = read(failure, &reason, sizeof reason);
  } while (count < 0 && errno == EINTR);
  close(failure);
  return count == sizeof reason ? reason : 0;
}

/// Waits until the process of `descriptor` ends, or the poll interval is over; on kernels without such descriptors, for
/// the interval.
void await_end(int descriptor) {
  if (descriptor < 0) return std::this_thread::sleep_for(poll_interval);
  pollfd watched{descriptor, POLLIN, 0};
  poll(&watched, 1, static_cast<int>(poll_interval.count()));
}

/// Whether the child has ended; sets `status` and `usage` if so.
bool has_ended(pid_t child, int& status, rusage& usage) {
  const pid_t done = wait4(child, &status, WNOHANG, &usage);
  if (done < 0 && errno != EINTR) fail("waiting for a run: {}", std::strerror(errno));
  return done == child;
}

}  // namespace

ChildResult run_child(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                      const std::filesystem::path& log, double timeout_seconds, const std::function<bool()>& stopped,
                      const std::map<std::string, std::string>& environment, const std::filesystem::path& folder) {
  const std::string name = program.string();
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), name);
  const std::vector<char*> argv = make_pointers(words);
  std::vector<std::string> settings = merge_environment(environment);
  const std::vector<char*> envp = make_pointers(settings);
  const int log_file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (log_file < 0) fail("{}: cannot be written: {}", log.string(), std::strerror(errno));
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) fail("a run cannot be started: {}", std::strerror(errno));
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) execute(name.c_str(), argv.data(), envp.data(), log_file, parent, folder.c_str(), failure[1]);
  close(log_file);
  close(failure[1]);
  if (child < 0) {
    close(failure[0]);
    fail("a run cannot be started: {}", std::strerror(errno));
  }
  setpgid(child, child);  // in the parent too, to avoid a race

  const Stopwatch watch;
  const int cannot_start = await_start(failure[0]);
  ChildResult result;
  double asked_to_end = -1;
  int status = 0;
  rusage usage{};
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  while (!has_ended(child, status, usage)) {
    const double now = watch.seconds();
    if (asked_to_end < 0 && (now > timeout_seconds || stopped())) {
      result.end = now > timeout_seconds ? ChildResult::End::timed_out : ChildResult::End::stopped;
      asked_to_end = now;
      kill(-child, SIGTERM);
    }
    if (asked_to_end >= 0 && now > asked_to_end + grace_seconds) kill(-child, SIGKILL);
    await_end(descriptor);
  }
  close(descriptor);
  kill(-child, SIGKILL);  // any processes it left
  result.seconds = watch.seconds();
  result.peak_bytes = static_cast<std::int64_t>(usage.ru_maxrss) << 10;
  result.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (result.end == ChildResult::End::exited && WIFSIGNALED(status)) result.end = ChildResult::End::signalled;
  if (cannot_start != 0) fail("{}: cannot be started: {}", name, std::strerror(cannot_start));
  return result;
}

}  // namespace ptrain
