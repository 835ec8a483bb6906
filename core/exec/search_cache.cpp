#include "core/exec/search_cache.h"

#include "core/base/errors.h"
#include "core/base/hash.h"
#include "core/io/atomic_file.h"
#include "core/io/cache_directory.h"

#include <fcntl.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace ptrain {
namespace {

using nlohmann::json;

constexpr const char* schema = "ptrain.search/2";

/// One write at the end, which other processes' writes do not divide. `text` begins with the line break, since whoever
/// wrote before may have been cut off in its line.
void append(const std::filesystem::path& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) fail("{}: {}", path.string(), std::strerror(errno));
  const ssize_t written = ::write(file, text.data(), text.size());
  const int error = errno;
  ::close(file);
  if (written != static_cast<ssize_t>(text.size())) {
    fail("{}: {}", path.string(), written < 0 ? std::strerror(error) : "the disk is full");
  }
}

/// Calls visit(problem, choice) for each choice of `device` in the file; false when it is not a file of that device.
template <typename Visit>
bool read_choices(const std::filesystem::path& path, const std::string& device, Visit&& visit) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return false;
  const json head = json::parse(line, nullptr, false);
  if (!head.is_object() || head.value("schema", "") != schema || head.value("device", "") != device) return false;
  while (std::getline(file, line)) {
    const json entry = json::parse(line, nullptr, false);
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_string()) continue;
    visit(entry[0].get<std::string>(), entry[1].get<std::string>());
  }
  return true;
}

}  // namespace

SearchCache::SearchCache(const std::string& device)
    : device_(device), path_(cache_directory() / fmt::format("search-{:016x}.jsonl", fnv1a64(device))) {
  read_news();
}

void SearchCache::read_news() const {
  std::error_code missing;
  const std::uintmax_t bytes = std::filesystem::file_size(path_, missing);
  if (missing || bytes == read_bytes_) return;
  read_bytes_ = bytes;
  // What this process uses already stays.
  read_choices(path_, device_, [this](std::string problem, std::string choice) {
    choices_.try_emplace(std::move(problem), std::move(choice));
  });
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

void SearchCache::store(const std::string& problem, const std::string& implementation) {
  const std::lock_guard lock(mutex_);
  choices_[problem] = implementation;
  try {
    if (!read_choices(path_, device_, [](const std::string&, const std::string&) {})) {
      std::filesystem::create_directories(path_.parent_path());
      write_file_atomic(path_, json{{"schema", schema}, {"device", device_}}.dump(), Flush::no);
    }
    append(path_, '\n' + json::array({problem, implementation}).dump());
  } catch (const std::exception& error) {
    warning_ = fmt::format("the kernels chosen by the search are not kept: {}", error.what());
  }
}

std::optional<std::string> SearchCache::take_warning() {
  const std::lock_guard lock(mutex_);
  if (warned_ || warning_.empty()) return std::nullopt;
  warned_ = true;
  return warning_;
}

std::string SearchCache::hash() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [problem, choice] : choices_) text += fmt::format("{} = {}\n", problem, choice);
  return fmt::format("fnv1a64:{:016x}", fnv1a64(text));
}

}  // namespace ptrain
