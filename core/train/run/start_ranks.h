// How the ranks of a run come to be: threads of this process, or processes of an MPI job of which this is one.
#pragma once

#include "core/comm/communicator.h"
#include "core/config/loaded_config.h"

#include <functional>

namespace ptrain {

/// Threads of all ranks of this process: the configuration's, or else those that OpenMP has.
int threads_of_all(const Config& config);
/// Gives the calling thread, which a rank is to run on, `threads`; `loaded` with a note where OpenMP grants fewer.
LoadedConfig with_threads(LoadedConfig loaded, int threads);

/// What one rank does. Its dist.ranks is the number that there are; the communicator is null when the run has one rank
/// that nothing launched.
using RankWork = std::function<void(const LoadedConfig&, Communicator*)>;

/// Calls `work` for every rank of this process, each with its share of the cores, and returns when all are done. Throws
/// what a rank threw; a rank that does not come to an end by itself after another failed ends the process.
/// Throws Error{usage} when launcher and configuration do not fit.
void on_every_rank(const LoadedConfig& loaded, const RankWork& work);

}  // namespace ptrain
