// Remarks below a table of cases, each once with the names of the cases that it holds for.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

namespace ptrain {

class RemarkList {
 public:
  /// `cases` is the number of all cases, of which a remark may hold for every one.
  explicit RemarkList(std::size_t cases) : cases_(cases) {}

  void add(const std::string& name, const std::string& line) {
    if (line.empty()) return;
    auto known = std::find_if(remarks_.begin(), remarks_.end(), [&](const Remark& r) { return r.line == line; });
    if (known == remarks_.end()) known = remarks_.insert(known, {line, {}});
    known->names.push_back(name);
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> result;
    for (const Remark& remark : remarks_) result.push_back(fmt::format("{}: {}", format_names(remark), remark.line));
    return result;
  }

 private:
  struct Remark {
    std::string line;
    std::vector<std::string> names;
  };
  /// "level=O0", "level=O0, level=O1", "every case"
  std::string format_names(const Remark& remark) const {
    if (remark.names.size() == cases_ && cases_ > 1) return "every case";
    return fmt::format("{}", fmt::join(remark.names, "; "));
  }

  std::size_t cases_;
  std::vector<Remark> remarks_;
};

}  // namespace ptrain
