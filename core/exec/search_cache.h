// Which implementation an exhaustive search chose for each problem, kept on disk: the same machine makes the same
// choice in every process, and pays for a search once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace ptrain {

/// A file of lines: whose choices they are, then one choice a line, appended when it is made. So a search that is cut
/// off goes on where it was, and processes that search at the same time lose nothing of each other's.
class SearchCache {
 public:
  /// `device` names what the choices hold for (processor, library versions, threads); the file lies in
  /// cache_directory(). One that cannot be read, or that others could have written, is moved aside with a note; lines
  /// that are damaged count as not there.
  explicit SearchCache(const std::string& device);

  /// The choice for `problem`, by this process or by another, until now; empty when it was never searched.
  std::string find(const std::string& problem) const;
  /// Returns when the choice is in the file, if choices can be kept.
  void store(const std::string& problem, const std::string& implementation);
  /// What there is to tell since the last call: a file that was moved aside, choices that could not be written.
  std::vector<std::string> take_notes();
  /// Over all choices: runs of equal hash use the same implementations.
  std::string hash() const;
  /// Empty: choices are not kept.
  const std::filesystem::path& path() const { return path_; }
  /// What the choices hold for.
  const std::string& device() const { return device_; }

 private:
  void read_news() const;
  std::string read(const std::string& text) const;
  void put_aside(const std::string& problem) const;

  mutable std::mutex mutex_;
  std::string device_;
  mutable std::filesystem::path path_;
  mutable std::map<std::string, std::string> choices_;
  mutable std::uintmax_t read_bytes_ = 0;
  mutable std::vector<std::string> notes_;
  bool warned_ = false;  // that choices are not written
};

}  // namespace ptrain
