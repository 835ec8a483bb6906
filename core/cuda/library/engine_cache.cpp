#include "core/cuda/library/engine_cache.h"

#include "core/base/errors.h"
#include "core/base/hash.h"
#include "core/io/atomic_file.h"
#include "core/io/cache_directory.h"
#include "core/io/own_file.h"

#include <nlohmann/json.hpp>

namespace ptrain::cuda {
namespace {

using nlohmann::json;

constexpr const char* schema = "ptrain.plan/1";

std::uint64_t compute_checksum(const std::vector<std::uint8_t>& code) {
  return fnv1a64({reinterpret_cast<const char*>(code.data()), code.size()});
}

}  // namespace

EngineCache cached_plans(const std::string& device) {
  const std::filesystem::path folder = cache_directory();
  return folder.empty() ? EngineCache() : EngineCache(folder / fmt::format("compiled-{:016x}", fnv1a64(device)));
}

/// Checked at every use, since a plan's code is executed.
bool EngineCache::is_own() const { return !folder_.empty() && folder_problem(folder_).empty(); }

std::filesystem::path EngineCache::entry_file(const std::string& key) const {
  return folder_ / fmt::format("{:016x}.cbor", fnv1a64(key));
}

std::optional<CachedEngine> EngineCache::find(const std::string& key) const {
  if (!is_own()) return std::nullopt;
  const OwnFile file = read_own_file(entry_file(key));
  if (!file.content) return std::nullopt;
  const json content = json::from_cbor(*file.content, /*strict=*/true, /*allow_exceptions=*/false);
  const auto is = [&](const char* field, std::string_view value) {
    return content.contains(field) && content[field] == value;
  };
  if (!content.is_object() || !is("schema", schema) || !is("key", key)) return std::nullopt;
  const auto name = content.find("name"), code = content.find("code"), sum = content.find("checksum");
  if (name == content.end() || !name->is_string() || code == content.end() || !code->is_binary()) return std::nullopt;
  CachedEngine plan{*name, code->get_binary()};
  if (sum == content.end() || *sum != compute_checksum(plan.code)) return std::nullopt;
  return plan;
}

void EngineCache::store(const std::string& key, const CachedEngine& plan) const {
  if (folder_.empty()) return;
  const json content = {{"schema", schema},
                        {"key", key},
                        {"name", plan.name},
                        {"code", json::binary(plan.code)},
                        {"checksum", compute_checksum(plan.code)}};
  const std::vector<std::uint8_t> bytes = json::to_cbor(content);
  try {
    make_own_folder(folder_);
    if (!is_own()) return;
    write_file_atomic(entry_file(key), {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, Flush::no);
    std::filesystem::permissions(entry_file(key),
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  } catch (const std::exception&) {  // the search cache, in the same folder, reports write failures
  }
}

}  // namespace ptrain::cuda
