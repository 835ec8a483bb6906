// Which implementation an exhaustive search chose for each problem, kept on disk: the same machine makes the same
// choice in every process, and pays for a search once.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace ptrain {

class SearchCache {
 public:
  /// `device` names what the choices hold for (processor, library versions, threads); the file lies in
  /// cache_directory(). One that cannot be read counts as empty.
  explicit SearchCache(const std::string& device);

  /// The choice for `problem`; empty when it was never searched.
  std::string find(const std::string& problem) const;
  void store(const std::string& problem, const std::string& implementation);
  /// Writes the file when something was stored since it was read. Returns why it could not be written, if so.
  std::optional<std::string> save();
  /// Over all choices: runs of equal hash use the same implementations.
  std::string hash() const;
  const std::filesystem::path& path() const { return path_; }

 private:
  mutable std::mutex mutex_;
  std::string device_;
  std::filesystem::path path_;
  std::map<std::string, std::string> choices_;
  bool changed_ = false;
};

}  // namespace ptrain
