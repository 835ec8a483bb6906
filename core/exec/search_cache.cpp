#include "core/exec/search_cache.h"

#include "core/base/errors.h"
#include "core/base/hash.h"
#include "core/io/atomic_file.h"
#include "core/io/cache_directory.h"

#include <nlohmann/json.hpp>

#include <fstream>

namespace ptrain {
namespace {

constexpr const char* schema = "ptrain.search/1";

}  // namespace

SearchCache::SearchCache(const std::string& device)
    : device_(device), path_(cache_directory() / fmt::format("search-{:016x}.json", fnv1a64(device))) {
  std::ifstream file(path_);
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object() || json.value("schema", "") != schema || json.value("device", "") != device) return;
  const auto choices = json.find("choices");
  if (choices == json.end() || !choices->is_object()) return;
  for (const auto& [problem, choice] : choices->items()) {
    if (choice.is_string()) choices_[problem] = choice.get<std::string>();
  }
}

std::string SearchCache::find(const std::string& problem) const {
  const std::lock_guard lock(mutex_);
  const auto found = choices_.find(problem);
  return found == choices_.end() ? std::string{} : found->second;
}

void SearchCache::store(const std::string& problem, const std::string& implementation) {
  const std::lock_guard lock(mutex_);
  choices_[problem] = implementation;
  changed_ = true;
}

std::optional<std::string> SearchCache::save() {
  const std::lock_guard lock(mutex_);
  if (!changed_) return std::nullopt;
  const nlohmann::json json = {{"schema", schema}, {"device", device_}, {"choices", choices_}};
  try {
    std::filesystem::create_directories(path_.parent_path());
    write_file_atomic(path_, json.dump(1) + "\n");
  } catch (const std::exception& error) {
    return fmt::format("the kernels chosen by the search are not kept: {}", error.what());
  }
  changed_ = false;
  return std::nullopt;
}

std::string SearchCache::hash() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [problem, choice] : choices_) text += fmt::format("{} = {}\n", problem, choice);
  return fmt::format("fnv1a64:{:016x}", fnv1a64(text));
}

}  // namespace ptrain
