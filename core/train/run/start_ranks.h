// Starts the ranks of a run: as threads of this process, or as this process of an MPI job.
#pragma once

#include "core/comm/communicator.h"
#include "core/config/loaded_config.h"

#include <functional>

namespace ptrain {

/// Threads of all ranks of this process: the `configured` number, or OpenMP's default for 0.
int threads_of_all(std::int64_t configured);
/// Sets `threads` for the calling thread, on which a rank will run; adds a note to `loaded` if OpenMP grants fewer.
LoadedConfig with_threads(LoadedConfig loaded, int threads);

/// The work of one rank. Its dist.ranks is the actual number; the communicator is null for a single rank without a
/// launcher.
using RankWork = std::function<void(const LoadedConfig&, Communicator*)>;

/// Calls `work` for every rank of this process, each with its share of the cores, and returns when all are done. Throws
/// what a rank threw; a rank that does not end by itself after another has failed ends the process.
/// Throws Error{usage} when launcher and configuration disagree.
void on_every_rank(const LoadedConfig& loaded, const RankWork& work);

/// The same without a configuration, for the option --ranks: `ranks` threads, or the processes that a launcher started.
/// Throws Error{usage} for a single rank.
void on_ranks(std::int64_t ranks, const std::function<void(Communicator&)>& work);

}  // namespace ptrain
