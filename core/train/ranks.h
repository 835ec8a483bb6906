// Data parallelism in the training loop: what the ranks exchange in addition to gradients. A run of one rank makes the
// same calls, which then cost nothing.
#pragma once

#include "core/base/rank_slice.h"
#include "core/base/signals.h"
#include "core/comm/communicator.h"
#include "core/config/config.h"
#include "core/data/loader/loader.h"
#include "core/exec/backend.h"
#include "core/exec/variables.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ptrain {

/// What a rank sends to the others after each step.
struct RankStep {
  double loss = 0;
  double samples = 0;
  double step_seconds = 0, reader_seconds = 0, compute_seconds = 0;
  double waited_seconds = 0;  // part of computing: for other ranks, and for transfers not hidden by backward
  double signal = 0;          // received by this rank; 0: none
  double tokens = 0, computed_tokens = 0;  // of text: in the samples, and including padding
  double flops = 0;                        // forward and backward
  double elapsed_seconds = 0;              // since its first step, including evaluations
  double sets_up = 0;                      // 1 if a plan was compiled or recorded, which is not a step's regular work
};

class Ranks {
 public:
  /// `communicator` may be null: one rank.
  explicit Ranks(Communicator* communicator);

  bool several() const { return communicator_ != nullptr; }
  int rank() const { return several() ? communicator_->rank() : 0; }
  int world_size() const { return several() ? communicator_->world_size() : 1; }
  /// Rank 0 reads and writes the run's files.
  bool is_main() const { return rank() == 0; }
  /// Number of ranks that share this process's memory, and this host's.
  int ranks_in_process() const;
  int ranks_on_host() const { return several() ? communicator_->transport().local_world_size() : 1; }
  Communicator* communicator() const { return communicator_; }

  void shard(LoaderOptions& options) const;
  void note(const char* action, std::int64_t step) const;

  /// Sends this rank's values to all others.
  void start_sharing(const RankStep& mine);
  /// All ranks' values, by rank, each with the signal that the rank received; valid until the next start.
  std::span<const RankStep> finish_sharing();
  /// The signal that ends the run, 0 for none: all ranks act on the same one at the same step.
  int signal() const { return several() ? agreed_signal_ : SignalGuard::received(); }
  /// Agrees on the signals received since the last sharing.
  void agree_on_signal() { agreed_signal_ = static_cast<int>(largest(SignalGuard::received())); }
  /// Elementwise sum (in rank order) and maximum over all ranks.
  void add_up(std::span<double> values) const;
  double largest(double mine) const;
  /// All ranks' values, any number of them each, by rank.
  std::vector<std::vector<double>> collect(std::span<const double> mine) const;
  std::vector<std::string> collect(std::string_view mine) const;
  /// The bad samples of all ranks.
  BadSamples collect(const BadSamples& mine) const;
  /// Copies rank 0's values to every rank.
  void broadcast(std::span<double> values) const;
  /// Copies rank 0's variables, except gradients, the parts of the state that each rank keeps and `divided` tables, to
  /// every rank.
  void broadcast(Variables& variables, const std::set<std::string>& divided) const;
  /// Throws RankFailure naming a rank whose parameters differ from rank 0's, and its host.
  void require_equal_parameters(const Variables& variables, std::int64_t step) const;
  /// Seconds that the training thread has waited for the others so far.
  double waited_seconds() const;
  /// Runs `work` on rank 0 first and then on the others, which reuse the files that it wrote.
  template <typename Work>
  void main_first(Work&& work) const {
    if (several() && !is_main()) communicator_->barrier();
    work();
    if (several() && is_main()) communicator_->barrier();
  }

 private:
  std::vector<double> gathered(std::span<const double> mine) const;

  Communicator* communicator_;
  std::vector<RankStep> steps_;
  RankStep shared_;           // by this rank
  std::int64_t sharing_ = 0;  // Communicator::start_gather
  int agreed_signal_ = 0;     // of several ranks
};

/// The part of the optimizer state that a rank keeps; none: all of it.
std::optional<Shard> make_shard(const DistConfig& dist, int rank, int world_size);
std::optional<Shard> make_shard(const DistConfig& dist, const Ranks& ranks);

/// The collectives that exchange gradients; null with one rank. Both arguments must outlive them. Throws Error{usage}
/// for keys that the backend does not support.
std::shared_ptr<Collectives> make_gradient_collectives(const DistConfig& dist, Backend& backend,
                                                       Communicator* communicator);

}  // namespace ptrain
