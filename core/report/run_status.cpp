#include "core/report/run_status.h"

namespace ptrain {

std::string_view to_string(RunStatus status) {
  switch (status) {
    case RunStatus::ok:
      return "ok";
    case RunStatus::diverged:
      return "diverged";
    case RunStatus::oom:
      return "oom";
    case RunStatus::interrupted:
      return "interrupted";
    case RunStatus::error:
      break;
  }
  return "error";
}

}  // namespace ptrain
