#include "core/base/host_name.h"

#include <unistd.h>

#include <fstream>
#include <map>

namespace ptrain {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown host";
}

std::string processor_name() {
  std::map<std::string, std::string> first;  // values by field
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(':'), end = line.find_last_not_of("\t ", colon - 1);
    if (colon == line.npos || colon == 0 || end == line.npos) continue;
    first.try_emplace(line.substr(0, end + 1), colon + 2 <= line.size() ? line.substr(colon + 2) : "");
  }
  if (first.contains("model name")) return first["model name"];
  if (!first.contains("CPU part")) return "unknown processor";
  return "Arm, implementer " + first["CPU implementer"] + ", part " + first["CPU part"];
}

}  // namespace ptrain
