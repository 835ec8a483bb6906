#include "core/data/class_names.h"

#include "core/io/atomic_file.h"

#include <fmt/ranges.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <tuple>

namespace ptrain {
namespace {

bool is_whole_number(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == name.npos;
}

/// `name` in the form in which names that differ only in case, blanks or the form of their accents are equal, and so
/// are true and 1, false and 0.
std::string fold(const std::string& name) {
  utf8proc_uint8_t* made = nullptr;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT |
                                                      UTF8PROC_CASEFOLD | UTF8PROC_IGNORE);
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(name.data()),
                                             static_cast<utf8proc_ssize_t>(name.size()), &made, options);
  if (size < 0) return name;
  std::string folded(reinterpret_cast<const char*>(made), static_cast<std::size_t>(size));
  std::free(made);
  std::erase_if(folded, [](char c) { return c == ' ' || c == '\t'; });
  return folded == "true" ? "1" : folded == "false" ? "0" : folded;
}

}  // namespace

std::string describe_groups(const std::map<std::string, std::set<std::string>>& groups) {
  constexpr std::size_t most_listed = 3;
  std::string text;
  std::size_t listed = 0;
  for (const auto& [key, names] : groups) {
    if (names.size() < 2) continue;
    if (++listed > most_listed) return text + "; ...";
    std::vector<std::string> quoted;
    for (const std::string& name : names) quoted.push_back(quoted_name(name));
    text += (text.empty() ? "" : "; ") + fmt::format("{}", fmt::join(quoted, ", "));
  }
  return text;
}

std::string describe_alike(const std::vector<std::string>& names, const std::string& place) {
  std::map<std::string, std::set<std::string>> groups;
  for (const std::string& name : names) groups[fold(name)].insert(name);
  const std::string alike = describe_groups(groups);
  if (alike.empty()) return {};
  return fmt::format(
      "{}: classes of their own, although they differ only in case, blanks or the form of letters, or as true and 1 "
      "do: {}",
      place, alike);
}

std::string compose_class_name(const std::string& name) {
  if (std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return name;
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> composed(
      utf8proc_NFC(reinterpret_cast<const utf8proc_uint8_t*>(name.c_str())), std::free);
  return composed == nullptr ? name : reinterpret_cast<const char*>(composed.get());
}

void sort_class_names(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  if (!std::all_of(names.begin(), names.end(), is_whole_number)) return;
  const auto digits = [](const std::string& name) {
    return name.size() - std::min(name.find_first_not_of('0'), name.size());
  };
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    const std::size_t of_a = digits(a), of_b = digits(b);
    return std::tuple(of_a, a.substr(a.size() - of_a)) < std::tuple(of_b, b.substr(b.size() - of_b));
  });
}

}  // namespace ptrain
