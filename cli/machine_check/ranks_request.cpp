#include "cli/machine_check/ranks_request.h"

#include "cli/machine_check/machine.h"
#include "cli/open_device.h"
#include "core/base/errors.h"
#include "core/machine_check/rank_check.h"
#include "core/report/build_info.h"
#include "core/train/run/start_ranks.h"

namespace ptrain {

void compare_all_ranks(const RanksRequest& request, bool as_json) {
  on_ranks(request.ranks, [&](Communicator& communicator) {
    const DeviceKind device = cuda::unavailable_reason().empty() ? DeviceKind::cuda : DeviceKind::cpu;
    const auto backend = make_backend({device, {}}, communicator.local_rank());
    const bool is_first = communicator.rank() == 0;
    const auto progress = make_progress(is_first ? ProgressStyle::automatic : ProgressStyle::none, 1);
    CheckReport report;
    report.time = utc_time();
    report.add(check_ranks(communicator, *backend, {.folder = request.disk, .progress = progress.get()}));
    progress->finish();
    communicator.close();
    if (is_first) finish_checks(report, as_json);
  });
}

}  // namespace ptrain
