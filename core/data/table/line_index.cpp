#include "core/data/table/line_index.h"

#include "core/io/atomic_file.h"

#include <algorithm>

namespace ptrain {

std::string show_field(std::string_view field) { return quoted_name(field.substr(0, 40)); }

LineIndex::LineIndex(std::string_view text) : text_(text) {
  for (std::size_t begin = 0; begin < text.size(); ++size_) {
    if (size_ % stride == 0) begins_.push_back(begin);
    const std::size_t end = text.find('\n', begin);
    begin = end == std::string_view::npos ? text.size() : end + 1;
  }
}

std::string_view LineIndex::operator[](std::int64_t index) const {
  std::string_view rest = text_.substr(begins_[static_cast<std::size_t>(index / stride)]);
  for (std::int64_t passed = index % stride; passed > 0; --passed) {
    rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  }
  std::string_view line = rest.substr(0, rest.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace ptrain
