// Divided tables whose rows the ranks exchange by all-to-all, each once (core/ops/sparse/exchanged_rows.h).
//
// A rank finds the different ids of its batch and asks the ranks that have their rows for them; look-ups then read what
// has come, by its numbers. Tables that are read by the same ids share all of this; their rows travel together. In
// backward a rank adds up the gradients of each id's occurrences and sends the sums, of all such tables together, to
// the ranks that have the rows. These add them up over the ranks and update their rows. Of dynamic tables, keys travel;
// the ranks that a hash gives them find or make their rows. So a step's traffic and work do not grow with the number of
// ranks; the order of sums depends on it.
#pragma once

#include "core/passes/exchange_tables.h"

namespace ptrain {

/// What exchange_tables does for divided tables whose sums need no fixed order. Gradients of tables are then of the
/// rows that this rank has and the batch of all ranks has read, as many as ParameterGradient::used says.
Differentiated exchange_unique_rows(const Differentiated& differentiated, const DistributionOptions& options);

/// The same for a graph without gradients.
Graph exchange_unique_rows(const Graph& graph, const DistributionOptions& options);

}  // namespace ptrain
