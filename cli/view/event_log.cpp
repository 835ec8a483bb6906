#include "cli/view/event_log.h"

#include <cstdio>
#include <string>

namespace ptrain {

void print_event(std::string_view name, nlohmann::json fields) {
  fields["event"] = name;
  const std::string line = fields.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

}  // namespace ptrain
