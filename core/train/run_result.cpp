#include "core/train/run_result.h"

namespace ptrain {

void RankTotals::add(const RankStep& step) {
  samples += step.samples;
  step_seconds += step.step_seconds;
  reader_seconds += step.reader_seconds;
  compute_seconds += step.compute_seconds;
  waited_seconds += step.waited_seconds;
}

}  // namespace ptrain
