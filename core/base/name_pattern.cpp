#include "core/base/name_pattern.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace ptrain {

int pattern_distance(std::string_view pattern, std::string_view name) {
  std::vector<int> last(name.size() + 1), row(name.size() + 1);
  for (std::size_t j = 0; j <= name.size(); ++j) last[j] = static_cast<int>(j);
  for (const char wanted : pattern) {
    const bool any = wanted == '*';
    row[0] = last[0] + (any ? 0 : 1);
    for (std::size_t j = 1; j <= name.size(); ++j) {
      const bool equal = wanted == '?' || wanted == name[j - 1];
      row[j] =
          any ? std::min(last[j], row[j - 1]) : std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (equal ? 0 : 1)});
    }
    std::swap(last, row);
  }
  return last[name.size()];
}

}  // namespace ptrain
