// Runs a program in a child process, with a time limit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ptrain {

struct ChildResult {
  enum class End { exited, signalled, timed_out, stopped };
  End end = End::exited;
  int code = 0;  // exit code, or 128 + signal
  double seconds = 0;
  std::int64_t peak_bytes = 0;  // largest resident memory of one of its processes
};

/// Starts `program` with `arguments` as the leader of its own process group, with standard output and error written to
/// `log`, `environment` added to this process's and `folder` (empty: this process's) as its working folder, and waits.
/// After `timeout_seconds`, or when `stopped` returns true, the group gets SIGTERM and, five seconds later, SIGKILL.
/// The child dies with its parent. Throws Error{failed} when it cannot be started.
ChildResult run_child(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                      const std::filesystem::path& log, double timeout_seconds, const std::function<bool()>& stopped,
                      const std::map<std::string, std::string>& environment = {},
                      const std::filesystem::path& folder = {});

}  // namespace ptrain
