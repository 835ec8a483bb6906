// Feeds batches: epoch order, sharding over ranks, worker threads with ordered prefetch, bad-sample policy.
#pragma once

#include "core/data/batch.h"
#include "core/data/dataset.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace ptrain {

/// `shuffled` is for training: a new order each epoch, bad samples replaced by the next good one of the data set.
/// `balanced` is that too, with every class as often as every other (epoch_order.h).
/// `sequential` is for evaluation: every sample once, bad samples left out (the batch's count shrinks).
enum class SampleOrder { shuffled, balanced, sequential };
/// What happens to samples that do not fill a global batch at the end of an epoch.
enum class Remainder { drop, keep };

struct LoaderOptions {
  std::int64_t batch_size = 1;  // per rank
  int workers = 2;              // threads; 0 loads inside next()
  std::uint64_t seed = 0;
  SampleOrder order = SampleOrder::shuffled;
  Remainder remainder = Remainder::drop;
  int rank = 0;
  int world_size = 1;
  int prefetch = 3;                  // batches prepared ahead
  std::int64_t max_bad_samples = 0;  // distinct bad samples that are passed over before it is an error
  std::int64_t epochs = 0;           // batches end after this many epochs; 0: never
  std::int64_t samples = 0;          // sequential: so many, evenly spaced over the data set; 0: all
  ImageForm images = {};
  MakeImageDecoder make_decoder = {};        // for each worker; empty: the host decodes
  std::function<void(Batch&)> collate = {};  // makes targets that samples do not have by themselves
};

/// Global batch b of an epoch is positions [b*G, (b+1)*G) of the epoch's order, G = batch_size * world_size; rank r
/// takes its r-th contiguous part. The order depends on (seed, epoch) and labels alone, so it is the same for any rank
/// or worker count.
class Loader {
 public:
  /// `dataset` must outlive the loader. Throws Error when the data set has less than one global batch to give, and what
  /// make_decoder throws.
  Loader(const Dataset& dataset, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// The same on every rank.
  std::int64_t batches_per_epoch() const;
  /// The next batch; epochs follow one another. The reference holds until the next call of next() or seek().
  /// Throws what a sample's load threw (in batch order), and Error when more than max_bad_samples were bad.
  const Batch& next();
  /// Continues from batch `batch_index` of `epoch`; costs nothing that grows with either.
  void seek(std::int64_t epoch, std::int64_t batch_index);

  /// Total time that next() spent waiting for data (or loading it, without workers).
  double reader_seconds() const;
  /// Distinct bad samples met so far, and the last one's message.
  std::int64_t bad_samples() const;
  const std::string& last_bad_sample() const;
  /// Images, of batches to come too, that options.make_decoder's decoders decoded.
  std::int64_t device_decoded() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ptrain
