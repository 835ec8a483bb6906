// Compiled plans of cuDNN graphs on disk. cuDNN compiles batch norms, attention and fused convolutions from source, up
// to a second each; reading a compiled plan takes some milliseconds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ptrain::cuda {

struct CachedEngine {
  std::string name;                // CudnnGraph::plan_names()
  std::vector<std::uint8_t> code;  // CudnnGraph::save()
};

class EngineCache {
 public:
  /// An empty cache that stores nothing.
  EngineCache() = default;
  /// Plans of one device are in `folder`; they are neither read nor written where another user could write.
  explicit EngineCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The plan of the graph that `key` describes. Empty when there is none, or a damaged one.
  std::optional<CachedEngine> find(const std::string& key) const;
  /// A plan that cannot be written is compiled again next time.
  void store(const std::string& key, const CachedEngine& plan) const;

 private:
  bool is_own() const;
  std::filesystem::path entry_file(const std::string& key) const;

  std::filesystem::path folder_;
};

/// Plans that were compiled on this machine for the GPU of that name: in a folder of cache_directory().
EngineCache cached_plans(const std::string& device);

}  // namespace ptrain::cuda
