#include "core/data/shards/shard_files.h"

#include "core/data/image/image_list.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 5> split_words{"train", "val", "validation", "validate", "test"};

/// Whether `name` contains `word` with no letter next to it, ignoring case.
bool has_word(std::string name, std::string_view word) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (std::size_t at = name.find(word); at != name.npos; at = name.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_letter(name[at - 1])) && (end == name.size() || !is_letter(name[end]))) return true;
  }
  return false;
}

std::vector<fs::path> shards_in(const fs::path& directory, bool (*is_shard)(std::string_view name)) {
  std::vector<fs::path> shards;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() && !name.starts_with('.') && is_shard(name)) shards.push_back(entry.path());
  }
  std::sort(shards.begin(), shards.end());
  return shards;
}

std::vector<fs::path> with_word(const std::vector<fs::path>& shards, std::string_view word) {
  std::vector<fs::path> chosen;
  for (const fs::path& shard : shards) {
    if (has_word(shard.filename().string(), word)) chosen.push_back(shard);
  }
  return chosen;
}

}  // namespace

std::vector<fs::path> find_shards(const fs::path& root, Split split, bool (*is_shard)(std::string_view name)) {
  if (!fs::is_directory(root)) fail("{}: no such directory", root.string());
  if (const fs::path folder = find_split(root, split); !folder.empty()) {
    if (std::vector<fs::path> shards = shards_in(folder, is_shard); !shards.empty()) return shards;
  }
  const std::vector<fs::path> all = shards_in(root, is_shard);
  bool any_word = false;
  for (const std::string_view word : split_words) {
    std::vector<fs::path> chosen = with_word(all, word);
    any_word = any_word || !chosen.empty();
    if ((word == "train") == (split == Split::train) && !chosen.empty()) return chosen;
  }
  return split == Split::train && !any_word ? all : std::vector<fs::path>{};
}

std::string without_compression(std::string_view name) {
  if (name.ends_with(".tgz")) return fmt::format("{}.tar", name.substr(0, name.size() - 4));
  for (const std::string_view suffix : {".gz", ".zst", ".xz", ".bz2", ".lz4", ".zip"}) {
    if (name.ends_with(suffix)) return std::string(name.substr(0, name.size() - suffix.size()));
  }
  return {};
}

std::int64_t shard_count(std::string_view name) {
  const std::size_t of = name.rfind("-of-");
  if (of == name.npos || of == 0 || std::isdigit(static_cast<unsigned char>(name[of - 1])) == 0) return 0;
  std::int64_t count = 0;
  std::from_chars(name.data() + of + 4, name.data() + name.size(), count);
  return std::max<std::int64_t>(count, 0);
}

std::string missing_shards(const std::vector<fs::path>& shards) {
  const std::int64_t count = shard_count(shards.front().filename().string());
  if (static_cast<std::int64_t>(shards.size()) >= count) return {};
  return fmt::format("{}: found {} of the {} shards that their names count", shards.front().parent_path().string(),
                     shards.size(), count);
}

}  // namespace ptrain
