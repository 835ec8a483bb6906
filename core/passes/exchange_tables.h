// Data parallelism for tables with sparse gradients. Every rank gathers the ids and gradients of all ranks' samples, in
// the order of the ranks, and so has the sparse gradient of the whole batch.
//
// Replicated tables: each rank updates its copy of the table alike.
//
// Divided tables (DistributionOptions::tables): each rank has its rows alone (RowShard) and updates these. The ranks
// exchange what their batches read (exchange_unique_rows). Where sums have a fixed order (reproducible), they do so as
// follows instead: to look ids up, they gather the ids of all their samples before forward reads them; each looks up
// all of them in its rows, with zeros for those of other ranks, and a reduce-scatter gives each the rows of its
// samples. All terms of these sums but one are zeros, so that every look-up has the bits of a replicated table's. The
// rows of a bag are added up afterwards, in order.
#pragma once

#include "core/passes/autodiff.h"
#include "core/passes/grad_allreduce.h"
#include "core/passes/rewriter.h"

namespace ptrain {

namespace flat {
inline constexpr const char* gathered = "flat.grad.of_ranks.";  // prefix of the buffers of all ranks
}  // namespace flat

/// Sparse gradients of all ranks' samples instead of this rank's, computed at the end of backward. The exchanges start
/// as soon as backward has what they send. Divided tables become [V / ranks, H], rounded up; their gradients have the
/// rows' numbers on this rank.
Differentiated exchange_tables(const Differentiated& differentiated, const DistributionOptions& options);

/// The same for a graph without gradients, where only look-ups in divided tables need the other ranks. All ranks must
/// run it equally often.
Graph exchange_tables(const Graph& graph, const DistributionOptions& options);

/// Whether a node looks rows up in a table with a sparse gradient; its inputs are Embedding::Input's.
bool reads_sparse_table(const Node& node);

/// How ranks divide the tables that are read by `ids`, whose keys the ranks find in dynamic ones.
RowShard choose_shard(const Graph& graph, ValueId ids, RowShard shard);

/// Leaves this rank's rows of the tables, and its part of a row index, in the new graph.
void divide_tables(const Graph& graph, const RowShard& shard, Rewriter& rewriter);

}  // namespace ptrain
