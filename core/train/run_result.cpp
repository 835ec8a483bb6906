#include "core/train/run_result.h"

namespace ptrain {

std::string_view name_of(RunStatus status) {
  switch (status) {
    case RunStatus::ok:
      return "ok";
    case RunStatus::diverged:
      return "diverged";
    case RunStatus::oom:
      return "oom";
    case RunStatus::interrupted:
      return "interrupted";
    default:
      return "error";
  }
}

}  // namespace ptrain
