// Feeds batches: epoch order, sharding over ranks, worker threads with ordered prefetch, bad-sample policy.
#pragma once

#include "core/data/batch.h"
#include "core/data/dataset.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// `shuffled` is for training: a new order each epoch, bad samples replaced by the next good one of the data set.
/// `balanced` is the same with every class equally often (epoch_order.h).
/// `sequential` is for evaluation: every sample once, bad samples left out (the batch's count shrinks).
enum class SampleOrder { shuffled, balanced, sequential };
/// Treatment of samples that do not fill a global batch at the end of an epoch.
enum class Remainder { drop, keep };

struct LoaderOptions {
  std::int64_t batch_size = 1;  // per rank
  int workers = 2;              // threads; 0 loads inside next()
  std::uint64_t seed = 0;
  SampleOrder order = SampleOrder::shuffled;
  std::int64_t shuffle_window = 0;  // samples that are shuffled together (WindowedPermutation); 0: all
  Remainder remainder = Remainder::drop;
  int rank = 0;
  int world_size = 1;
  int prefetch = 3;                  // batches prepared ahead
  std::int64_t max_bad_samples = 0;  // distinct bad samples to skip before it is an error
  double max_bad_share = 1;          // likewise, as a share of the samples
  std::int64_t epochs = 0;           // number of epochs; 0: unlimited
  std::int64_t samples = 0;          // sequential: this many, evenly spaced over the data set; 0: all
  ImageForm images = {};
  /// Of images, one drawn for the batches of a step; empty: images.size. Shuffled, sizes that are higher than wide are
  /// for images that are, if there are others too (epoch_order.h).
  std::vector<ImageSize> sizes = {};
  /// Sequential, of single samples: the size of a sample's images; empty: images.size for all.
  std::function<ImageSize(std::int64_t index)> choose_size = {};
  std::int64_t batches_per_step = 1;
  MakeImageDecoder make_decoder = {};        // one decoder per worker; empty: the host decodes
  std::function<void(Batch&)> collate = {};  // computes targets that samples do not store
};

/// Samples that could not be read.
struct BadSamples {
  std::int64_t count = 0;
  std::vector<std::string> first = {};  // messages, each naming the file; at most `most_named`

  static constexpr std::size_t most_named = 3;
  void add(const BadSamples& others);
  /// "5 training samples could not be read and were left out: MESSAGE; MESSAGE; MESSAGE; and 2 more".
  std::string text(std::string_view kind) const;
};

/// Global batch b of an epoch is positions [b*G, (b+1)*G) of the epoch's order, G = batch_size * world_size; rank r
/// takes its r-th contiguous part. The order depends only on (seed, epoch) and labels, so it is the same for any rank
/// or worker count.
class Loader {
 public:
  /// `dataset` must outlive the loader. Throws Error when the data set has less than one global batch, and as
  /// make_decoder does.
  Loader(const Dataset& dataset, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// The same on every rank.
  std::int64_t batches_per_epoch() const;
  /// The next batch, across epochs. The reference is valid until the next call of next() or seek().
  /// Throws what a sample's load threw (in batch order), and Error for more bad samples than both limits allow.
  const Batch& next();
  /// Continues from batch `batch_index` of `epoch`, in constant time.
  void seek(std::int64_t epoch, std::int64_t batch_index);

  /// Total time that next() spent waiting for data (or loading it, without workers).
  double reader_seconds() const;
  /// The distinct bad samples so far: their number, and why, of the first ones found.
  const BadSamples& bad_samples() const;
  /// Number of images that options.make_decoder's decoders decoded, including prefetched batches.
  std::int64_t device_decoded() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ptrain
