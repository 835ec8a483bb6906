#include "core/data/table/line_index.h"

#include "core/io/atomic_file.h"

#include <algorithm>

namespace ptrain {

std::string show_field(std::string_view field) { return quoted_name(field.substr(0, 40)); }

namespace {

/// Lines of about 256 bytes in all, by the length of the first ones.
std::int64_t choose_stride(std::string_view text) {
  constexpr std::int64_t most = 16, skipped_bytes = 256;
  const std::string_view first = text.substr(0, 65536);
  const auto lines = 1 + static_cast<std::int64_t>(std::ranges::count(first, '\n'));
  return std::clamp<std::int64_t>(skipped_bytes * lines / static_cast<std::int64_t>(first.size() + 1), 1, most);
}

}  // namespace

LineIndex::LineIndex(std::string_view text) : text_(text), stride_(choose_stride(text)) {
  for (std::size_t begin = 0; begin < text.size(); ++size_) {
    if (size_ % stride_ == 0) begins_.push_back(begin);
    const std::size_t end = text.find('\n', begin);
    begin = end == std::string_view::npos ? text.size() : end + 1;
  }
}

void LineIndex::prefetch(std::int64_t index) const {
  constexpr std::size_t most_bytes = 1024, cache_line = 64;
  const std::size_t usual_bytes = text_.size() / begins_.size();
  const std::size_t begin = begins_[static_cast<std::size_t>(index / stride_)];
  const std::size_t end = std::min(begin + std::min(usual_bytes, most_bytes), text_.size());
  for (std::size_t at = begin; at < end; at += cache_line) __builtin_prefetch(text_.data() + at);
}

std::string_view LineIndex::operator[](std::int64_t index) const {
  std::string_view rest = text_.substr(begins_[static_cast<std::size_t>(index / stride_)]);
  for (std::int64_t passed = index % stride_; passed > 0; --passed) {
    rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  }
  std::string_view line = rest.substr(0, rest.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace ptrain
