// The starts of the lines of a large text file, of which some are stored: of short lines every sixteenth, half a byte
// per line; of those above about 250 bytes all. And the errors of lines.
#pragma once

#include "core/data/dataset.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// The place of a line, for messages.
struct LinePlace {
  const std::string& file;
  std::int64_t line;  // from 1
};

/// Throws BadSample, whose message begins with the place.
template <typename... Args>
[[noreturn]] void reject_line(const LinePlace& place, fmt::format_string<Args...> format, Args&&... args) {
  throw BadSample(fmt::format("{}:{}: {}", place.file, place.line, fmt::format(format, std::forward<Args>(args)...)));
}

/// The start of a field, quoted, for a message.
std::string show_field(std::string_view field);

class LineIndex {
 public:
  /// Reads all of `text` once; it must outlive the index. A line ends at "\n" or "\r\n"; the last one may lack it.
  explicit LineIndex(std::string_view text);

  std::int64_t size() const { return size_; }
  /// Line `index` from 0, without its end. Skips over at most fifteen others, and fewer long ones.
  std::string_view operator[](std::int64_t index) const;
  /// Begins to bring a line of usual length into caches.
  void prefetch(std::int64_t index) const;

 private:
  std::string_view text_;
  std::int64_t size_ = 0;
  std::int64_t stride_;                // lines from one that is stored to the next
  std::vector<std::uint64_t> begins_;  // of these
};

}  // namespace ptrain
