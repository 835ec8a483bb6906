// Selects the static plan that serves a batch.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace ptrain {

/// Names of extents that several models use.
namespace extent_names {
inline constexpr const char* tokens = "tokens";  // T, the capacity of packed text
inline constexpr const char* height = "height";  // px, of images
inline constexpr const char* width = "width";
inline constexpr const char* objects = "objects";            // of an image, at most
inline constexpr const char* mask_runs = "mask_runs";        // of the masks of an image's objects, at most
inline constexpr const char* cache_slots = "cache_slots";    // texts whose keys and values are kept
inline constexpr const char* cache_length = "cache_length";  // tokens of each, at most
}  // namespace extent_names

/// The extents of a batch: its samples and, by name, others that a graph is built for.
class Bucket {
 public:
  std::int64_t rows;  // N, samples

  /// An extent of 0 is the same as an absent one.
  Bucket(std::int64_t row_count, std::initializer_list<std::pair<const char*, std::int64_t>> extents = {})
      : rows(row_count) {
    for (const auto& [name, extent] : extents) set(name, extent);
  }

  /// 0 where there is no extent of that name.
  std::int64_t get(std::string_view name) const {
    const auto found = extents_.find(name);
    return found == extents_.end() ? 0 : found->second;
  }
  Bucket& set(const std::string& name, std::int64_t extent) {
    if (extent == 0) {
      extents_.erase(name);
    } else {
      extents_[name] = extent;
    }
    return *this;
  }
  std::int64_t tokens() const { return get(extent_names::tokens); }  // 0: N sequences of the maximum length
  std::int64_t height() const { return get(extent_names::height); }  // 0: the model's own
  std::int64_t width() const { return get(extent_names::width); }

  auto operator<=>(const Bucket&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 takes 0 for null

 private:
  std::map<std::string, std::int64_t, std::less<>> extents_;
};

}  // namespace ptrain
