// The implementation that an exhaustive search chose for each problem, stored on disk: all processes of a machine make
// the same choice, and a search runs once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace ptrain {

/// A text file: its device, then one choice per line, appended when it is made. An interrupted search resumes where it
/// stopped, and concurrent processes lose none of each other's choices.
class SearchCache {
 public:
  /// `device` identifies what the choices are valid for (processor, library versions, threads); the file is in
  /// cache_directory(). A file that cannot be read, or that other users could have written, is moved aside with a note;
  /// damaged lines are ignored.
  explicit SearchCache(const std::string& device);

  /// The choice for `problem`, by this or another process; empty when it was never searched.
  std::string find(const std::string& problem) const;
  /// The choice that counts: `implementation`, or what was stored first for `problem`, also by another process, unless
  /// that is `unusable`. Returns after it is written to the file, if choices can be saved.
  std::string store(const std::string& problem, const std::string& implementation, const std::string& unusable = {});
  /// Overrides a choice that turned out not to work.
  void replace(const std::string& problem, const std::string& implementation);
  /// Returns and clears notes: a file that was moved aside, choices that could not be written.
  std::vector<std::string> take_notes();
  /// Hash of all choices: runs with equal hashes use the same implementations.
  std::string hash() const;
  /// Empty: choices are not saved.
  const std::filesystem::path& path() const { return path_; }
  /// The device that the choices are valid for.
  const std::string& device() const { return device_; }

 private:
  enum class Earlier { counts, is_overridden };
  void read_news() const;
  std::string read(const std::string& text) const;
  void put_aside(const std::string& problem) const;
  void save(const std::string& problem, const std::string& implementation, Earlier earlier);

  mutable std::mutex mutex_;
  std::string device_;
  mutable std::filesystem::path path_;
  mutable std::map<std::string, std::string> choices_;
  mutable std::uintmax_t read_bytes_ = 0;
  mutable std::vector<std::string> notes_;
  bool warned_ = false;  // warned that choices are not saved
};

}  // namespace ptrain
