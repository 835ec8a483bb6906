#include "core/bench/git_history.h"

#include "core/base/errors.h"
#include "core/config/text.h"
#include "core/io/atomic_file.h"

#include <array>
#include <cstdio>
#include <sstream>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

constexpr int no_such_program = 127;

struct GitResult {
  int code = 0;
  std::string output;  // and errors
};

std::string quote_word(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// Runs git in the current folder's repository, whatever a hook that called this process has set. Throws Error{failed}
/// where it cannot be started.
GitResult run_git(const std::vector<std::string>& words) {
  std::string line = "env -u GIT_DIR -u GIT_WORK_TREE -u GIT_INDEX_FILE LC_ALL=C git";
  for (const std::string& word : words) line += " " + quote_word(word);
  std::FILE* pipe = popen((line + " 2>&1 </dev/null").c_str(), "re");
  if (pipe == nullptr) fail("git: cannot be started");
  GitResult result;
  std::array<char, 4096> part{};
  for (std::size_t count = 0; (count = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
    result.output.append(part.data(), count);
  }
  result.code = pclose(pipe) >> 8;
  if (result.code == no_such_program) fail("git: cannot be started: is it installed?");
  while (result.output.ends_with('\n')) result.output.pop_back();
  return result;
}

std::string get_last_line(const std::string& text) {
  const std::size_t end = text.rfind('\n');
  return end == std::string::npos ? text : text.substr(end + 1);
}

std::string find_commit(const std::string& revision) {
  const GitResult result = run_git({"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"});
  if (result.code != 0) fail_usage("{}: is no commit of this repository", shown(revision));
  return get_last_line(result.output);  // after warnings
}

/// The folder that holds a repository's objects, also for one of several worktrees.
fs::path find_repository() {
  const GitResult result = run_git({"rev-parse", "--git-common-dir"});
  if (result.code != 0) {
    fail_usage("{}: is in no git repository that can be read: {}", fs::current_path().string(),
               on_one_line(result.output.substr(0, result.output.find('\n'))));
  }
  return fs::absolute(get_last_line(result.output));
}

/// Runs git and throws Error{failed} with its last line.
void require_git(const std::vector<std::string>& words, const std::string& what) {
  const GitResult result = run_git(words);
  if (result.code != 0) fail("{}: {}", what, on_one_line(get_last_line(result.output)));
}

}  // namespace

std::vector<GitCommit> list_commits(const std::string& good, const std::string& bad) {
  find_repository();
  const std::string first = find_commit(good), last = find_commit(bad);
  if (first == last) fail_usage("{} and {} are the same commit, so no commit is between them", good, bad);
  if (run_git({"merge-base", "--is-ancestor", first, last}).code != 0) {
    fail_usage("{} is no ancestor of {}; give the older commit first (a shallow clone lacks old commits)", good, bad);
  }
  std::vector<GitCommit> commits;
  for (const auto& range : {std::vector<std::string>{"-1", first}, {"--reverse", first + ".." + last}}) {
    std::vector<std::string> words = {"log", "--first-parent", "--no-show-signature", "--format=%H %s"};
    words.insert(words.end(), range.begin(), range.end());
    const GitResult result = run_git(words);
    if (result.code != 0) fail("git log: {}", on_one_line(result.output));
    std::istringstream lines(result.output);
    for (std::string line; std::getline(lines, line);) {
      if (line.find(' ') != first.size()) continue;  // a warning
      commits.push_back({line.substr(0, first.size()), line.substr(first.size() + 1)});
    }
  }
  return commits;
}

void check_out(const std::string& hash, const fs::path& folder) {
  fs::remove_all(folder);
  make_folder(folder.parent_path());
  require_git({"clone", "--quiet", "--shared", "--no-checkout", "--", find_repository().string(), folder.string()},
              fmt::format("{}: git clone", folder.string()));
  require_git({"-C", folder.string(), "-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", hash},
              fmt::format("{}: git checkout", folder.string()));
}

}  // namespace ptrain
