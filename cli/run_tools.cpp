#include "cli/run_tools.h"

#include "cli/open_workload.h"
#include "cli/view/run_console.h"

namespace ptrain {

RunTools make_run_tools(const ConsoleOptions& console) {
  return {open_workload, [&console](const Config& config, RankOutput shown) {
            return std::make_unique<RunConsole>(config, console, shown);
          }};
}

}  // namespace ptrain
