#include "core/cuda/library/plan_store.h"

#include "core/base/errors.h"
#include "core/base/hash.h"
#include "core/io/atomic_file.h"
#include "core/io/cache_directory.h"

#include <nlohmann/json.hpp>

#include <fstream>

namespace ptrain::cuda {
namespace {

using nlohmann::json;

constexpr const char* schema = "ptrain.plan/1";

std::uint64_t checksum(const std::vector<std::uint8_t>& code) {
  return fnv1a64({reinterpret_cast<const char*>(code.data()), code.size()});
}

}  // namespace

PlanStore::PlanStore(const std::string& device)
    : folder_(cache_directory() / fmt::format("plans-{:016x}", fnv1a64(device))) {}

std::filesystem::path PlanStore::file_of(const std::string& key) const {
  return folder_ / fmt::format("{:016x}.cbor", fnv1a64(key));
}

std::optional<StoredPlan> PlanStore::find(const std::string& key) const {
  std::ifstream file(file_of(key), std::ios::binary);
  const json content = json::from_cbor(file, /*strict=*/true, /*allow_exceptions=*/false);
  if (!content.is_object() || content.value("schema", "") != schema || content.value("key", "") != key) {
    return std::nullopt;
  }
  const auto name = content.find("name"), code = content.find("code"), sum = content.find("checksum");
  if (name == content.end() || !name->is_string() || code == content.end() || !code->is_binary()) return std::nullopt;
  StoredPlan plan{*name, code->get_binary()};
  if (sum == content.end() || *sum != checksum(plan.code)) return std::nullopt;
  return plan;
}

void PlanStore::store(const std::string& key, const StoredPlan& plan) const {
  const json content = {{"schema", schema},
                        {"key", key},
                        {"name", plan.name},
                        {"code", json::binary(plan.code)},
                        {"checksum", checksum(plan.code)}};
  const std::vector<std::uint8_t> bytes = json::to_cbor(content);
  try {
    std::filesystem::create_directories(folder_);
    write_file_atomic(file_of(key), {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, Flush::no);
  } catch (const std::exception&) {  // the search cache, which lies beside it, tells of a folder that cannot be written
  }
}

}  // namespace ptrain::cuda
