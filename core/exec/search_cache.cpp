#include "core/exec/search_cache.h"

#include "core/base/errors.h"
#include "core/base/hash.h"
#include "core/io/cache_directory.h"
#include "core/io/own_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <utility>

namespace ptrain {
namespace {

using nlohmann::json;

constexpr const char* schema = "ptrain.search/2";

/// A file to append to, made if need be, which no other process appends to while this exists.
class SharedFile {
 public:
  explicit SharedFile(const std::filesystem::path& path)
      : path_(path),
        descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                           S_IRUSR | S_IWUSR)) {
    if (descriptor_ < 0) fail("{}: {}", path.string(), std::strerror(errno));
    while (::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~SharedFile() { ::close(descriptor_); }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  std::uintmax_t bytes() const { return std::filesystem::file_size(path_); }
  /// A single write. `text` begins with a line break, since an earlier writer may have been cut off mid-line.
  void append(const std::string& text) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written == static_cast<ssize_t>(text.size())) return;
    fail("{}: {}", path_.string(), written < 0 ? std::strerror(errno) : "the disk is full");
  }

 private:
  std::filesystem::path path_;
  int descriptor_;
};

}  // namespace

SearchCache::SearchCache(const std::string& device) : device_(device) {
  const std::filesystem::path folder = cache_directory();
  if (folder.empty()) return;
  path_ = folder / fmt::format("search-{:016x}.jsonl", fnv1a64(device));
  read_news();
}

void SearchCache::read_news() const {
  if (path_.empty()) return;
  std::error_code error;
  if (const std::uintmax_t bytes = std::filesystem::file_size(path_, error); !error && bytes == read_bytes_) return;
  const OwnFile file = read_own_file(path_);
  if (file.content && file.content->empty()) return;
  if (file.content) read_bytes_ = file.content->size();
  if (const std::string problem = file.content ? read(*file.content) : file.problem; !problem.empty())
    put_aside(problem);
}

/// Returns why `text` does not hold the device's choices; empty: it does.
std::string SearchCache::read(const std::string& text) const {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  const json head = json::parse(line, nullptr, false);
  const auto is = [&](const char* name, std::string_view value) { return head.contains(name) && head[name] == value; };
  if (!head.is_object() || !is("schema", schema)) return fmt::format("it is not a document of {}", schema);
  if (!is("device", device_)) return "it belongs to another device";
  std::map<std::string, std::string> latest;
  while (std::getline(lines, line)) {
    const json entry = json::parse(line, nullptr, false);
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_string()) continue;
    latest[entry[0].get<std::string>()] = entry[1].get<std::string>();
  }
  choices_.merge(latest);  // choices in use stay
  return {};
}

void SearchCache::put_aside(const std::string& problem) const {
  std::filesystem::path aside = path_;
  aside += ".aside";
  std::error_code error;
  std::filesystem::rename(path_, aside, error);
  notes_.push_back(fmt::format("{}: not read: {}; {}", path_.string(), problem,
                               error ? "choices are not saved" : "moved to " + aside.filename().string()));
  if (error) path_.clear();
}

std::string SearchCache::find(const std::string& problem) const {
  const std::lock_guard lock(mutex_);
  auto found = choices_.find(problem);
  if (found == choices_.end()) {
    read_news();
    found = choices_.find(problem);
  }
  return found == choices_.end() ? std::string{} : found->second;
}

std::string SearchCache::store(const std::string& problem, const std::string& implementation,
                               const std::string& unusable) {
  if (!unusable.empty() && find(problem) == unusable) {
    replace(problem, implementation);
    return implementation;
  }
  const std::lock_guard lock(mutex_);
  if (!choices_.contains(problem)) save(problem, implementation, Earlier::counts);
  return choices_.try_emplace(problem, implementation).first->second;
}

void SearchCache::replace(const std::string& problem, const std::string& implementation) {
  const std::lock_guard lock(mutex_);
  choices_[problem] = implementation;
  save(problem, implementation, Earlier::is_overridden);
}

void SearchCache::save(const std::string& problem, const std::string& implementation, Earlier earlier) {
  read_news();
  if (path_.empty()) return;
  try {
    make_own_folder(path_.parent_path());
    SharedFile file(path_);
    read_news();
    if (earlier == Earlier::counts && choices_.contains(problem)) return;
    const std::string head = file.bytes() == 0 ? json{{"schema", schema}, {"device", device_}}.dump() : "";
    file.append(head + '\n' + json::array({problem, implementation}).dump());
    read_bytes_ = file.bytes();
  } catch (const std::exception& error) {
    if (!std::exchange(warned_, true)) {
      notes_.push_back(fmt::format("the kernels chosen by the search are not saved: {}", error.what()));
    }
  }
}

std::vector<std::string> SearchCache::take_notes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notes_, {});
}

std::string SearchCache::hash() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [problem, choice] : choices_) text += fmt::format("{} = {}\n", problem, choice);
  return fmt::format("fnv1a64:{:016x}", fnv1a64(text));
}

}  // namespace ptrain
