// Data parallelism: averages each gradient over all ranks, exchanged in buckets that overlap with backward.
//
// The flat gradient buffers are divided, in the order in which backward computes them, into buckets of a set size. A
// bucket's exchange starts right after the node that computes its last gradient; one wait precedes the update, so the
// norm for clipping and the scaler's overflow flag see the mean and are the same on every rank. With gradient
// accumulation only the last micro-batch exchanges (Pass::exchange), bucket by bucket as its sum is complete.
//
// Where each rank updates its own slices of the parameters (DistributionOptions::shard), the ranks gather all of them
// after the update, and low-precision copies are made from what was gathered. If nothing else reads gradients, each
// rank gets the sums of its slices alone: a reduce-scatter, which with the all-gather moves what an all-reduce does.
//
// Sums that do not depend on the number of ranks (DistributionOptions::reproducible) follow the order of the data:
// gradients are exchanged after every micro-batch; rank 0 adds its own to the sum so far, the others start from zero.
//
// Gradients of tables at the end of a buffer are of all ranks already (exchange_tables).
#pragma once

#include "core/base/enums.h"
#include "core/base/rank_slice.h"
#include "core/base/row_shard.h"
#include "core/graph/graph.h"

#include <optional>

namespace ptrain {

namespace flat {
inline constexpr const char* statistics = "flat.statistics";           // running statistics of batch norms
inline constexpr const char* grad_low_f32 = "flat.grad_low.exchange";  // low-precision gradients, exchanged in fp32
}  // namespace flat

struct DistributionOptions {
  int rank = 0, world_size = 1;
  std::int64_t bucket_bytes = std::int64_t{25} << 20;
  GradAverage average = GradAverage::fp32;
  /// Batch norms use the statistics of all ranks' samples.
  bool sync_batch_norm = false;
  /// Gradients are summed over micro-batches and ranks in one fixed order, however micro-batches are distributed over
  /// ranks. Not supported with GradAverage::gradient.
  bool reproducible = false;
  /// This rank's part of the optimizer state; none: each rank keeps all of it. The rest as in OptimizerPassOptions.
  std::optional<Shard> shard = {};
  bool whole_masters = true, whole_sums = true;
  /// This rank's rows of tables with sparse gradients; none: each rank has whole tables.
  std::optional<RowShard> tables = {};
  bool delays_updates = false;  // delay_updates
};

/// Adds the exchange to a graph from add_optimizer. Unless batch norms are synchronised, their running statistics
/// become views of flat::statistics and are averaged too, so that all ranks hold the same model after every step.
Graph add_grad_allreduce(const Graph& graph, const DistributionOptions& options);

/// Makes every training batch norm of a forward graph compute its statistics over all ranks.
Graph synchronize_batch_norm(const Graph& forward);

}  // namespace ptrain
