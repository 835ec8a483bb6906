#include "cli/machine_check/ranks_request.h"

#include "cli/machine_check/machine.h"
#include "cli/open_device.h"
#include "core/base/errors.h"
#include "core/machine_check/rank_check.h"
#include "core/report/build_info.h"
#include "core/train/run/start_ranks.h"

namespace ptrain {

void compare_all_ranks(const RanksRequest& request, bool as_json) {
  LoadedConfig loaded;
  loaded.config.dist.ranks = request.ranks;
  loaded.origins["dist.ranks"] = "default";
  on_every_rank(loaded, [&](const LoadedConfig&, Communicator* communicator) {
    if (communicator == nullptr) fail_usage("--ranks: expected at least 2, or a launcher such as mpirun");
    const DeviceKind device = cuda::unavailable_reason().empty() ? DeviceKind::cuda : DeviceKind::cpu;
    const auto backend = make_backend({device, {}}, communicator->local_rank());
    const bool is_first = communicator->rank() == 0;
    const auto progress = make_progress(is_first ? ProgressStyle::automatic : ProgressStyle::none, 1);
    CheckReport report;
    report.time = utc_time();
    report.add(check_ranks(*communicator, *backend, {.folder = request.disk, .progress = progress.get()}));
    progress->finish();
    communicator->close();
    if (is_first) finish_checks(report, as_json);
  });
}

}  // namespace ptrain
