// The starts of the lines of a large text file: every sixteenth is stored, half a byte per line.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ptrain {

class LineIndex {
 public:
  /// Reads all of `text` once; it must outlive the index. A line ends at "\n" or "\r\n"; the last one may lack it.
  explicit LineIndex(std::string_view text);

  std::int64_t size() const { return size_; }
  /// Line `index` from 0, without its end. Skips over at most fifteen others.
  std::string_view operator[](std::int64_t index) const;

 private:
  static constexpr std::int64_t stride = 16;

  std::string_view text_;
  std::int64_t size_ = 0;
  std::vector<std::uint64_t> begins_;  // of every sixteenth line
};

}  // namespace ptrain
