#include "cli/run_tools.h"

#include "cli/view/run_console.h"
#include "cli/workload.h"

namespace ptrain {

RunTools make_run_tools(const Telling& telling) {
  return {open_workload, [&telling](const Config& config, ShownRank shown) {
            return std::make_unique<RunConsole>(config, telling, shown);
          }};
}

}  // namespace ptrain
