// The commits of a git repository, and copies of the tree as it was at one of them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ptrain {

struct GitCommit {
  std::string hash;
  std::string subject;  // first line of its message
};

/// `good`, then the commits after it up to `bad`, along first parents. Throws Error{usage} where the current folder is
/// in no repository, one of them is no commit, or `good` is no ancestor of `bad` or the same.
std::vector<GitCommit> list_commits(const std::string& good, const std::string& bad);

/// Makes `folder` a clone that shares the objects of the current folder's repository, at commit `hash`, replacing what
/// is there. The repository itself is only read: unlike a worktree, a clone is not registered in it, so nothing is left
/// behind there when this process is killed. Throws Error{failed} with git's message.
void check_out(const std::string& hash, const std::filesystem::path& folder);

}  // namespace ptrain
