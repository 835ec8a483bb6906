// The network of a run as a drawing: what reads what, and what each op costs.
#pragma once

#include "core/analysis/html/figure.h"
#include "core/report/report.h"

namespace ptrain::html {

/// A row for each op of the forward pass, in the order of a step: its time with that of its gradient, the memory of its
/// results, and its AMP class. Without panels if the run did not time its ops (output.per_op), or an older version did.
Figure draw_graph(const Report& report);

}  // namespace ptrain::html
