#include "core/data/class_names.h"

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

}  // namespace

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
