// The loader: order, sharding, resume, bad samples, exceptions, shutdown.
#include "core/data/loader/loader.h"

#include "core/data/tensor_names.h"

#include "core/data/factory.h"
#include "core/data/loader/permutation.h"
#include "tests/error_message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace ptrain {
namespace {

/// Sample i is two pixels' worth of i; the indices in `bad` are corrupt.
class CountingDataset : public Dataset {
 public:
  explicit CountingDataset(std::int64_t size, std::set<std::int64_t> bad = {}) : size_(size), bad_(std::move(bad)) {
    info_.image_size = 1;
    info_.classes = 1000;
  }
  std::int64_t size() const override { return size_; }
  void load(std::int64_t index, SampleRandom random, Scratch&, const SampleRow& out) const override {
    if (bad_.contains(index)) throw BadSample(fmt::format("image{}.jpg: corrupt", index));
    if (index == fatal) throw std::runtime_error("disk on fire");
    const auto pixels = out.at<std::uint8_t>(tensor_names::images);
    pixels[0] = static_cast<std::uint8_t>(index);
    pixels[1] = static_cast<std::uint8_t>(random.below(256));
    out.set(tensor_names::labels, label(index));
  }
  std::int32_t label(std::int64_t index) const override { return static_cast<std::int32_t>(index); }
  std::int64_t fatal = -1;

 private:
  std::int64_t size_;
  std::set<std::int64_t> bad_;
};

std::span<const std::int32_t> get_labels(const Batch& batch) {
  return batch.values<std::int32_t>(tensor_names::labels);
}
std::span<const std::uint8_t> get_pixels(const Batch& batch) {
  return batch.values<std::uint8_t>(tensor_names::images);
}

std::vector<std::int32_t> valid_labels(const Batch& batch) {
  const auto valid = get_labels(batch).first(static_cast<std::size_t>(batch.count));
  return {valid.begin(), valid.end()};
}

/// Everything that reaches the model over `batches` batches: labels, pixels.
std::vector<int> trace(Loader& loader, int batches) {
  std::vector<int> seen;
  for (int i = 0; i < batches; ++i) {
    const Batch& batch = loader.next();
    seen.insert(seen.end(), get_labels(batch).begin(), get_labels(batch).end());
    seen.insert(seen.end(), get_pixels(batch).begin(), get_pixels(batch).end());
  }
  return seen;
}

/// 90 samples of class 0, 6 of class 1, 4 of class 3; none of class 2.
class UnevenDataset final : public CountingDataset {
 public:
  UnevenDataset() : CountingDataset(100) { info_.classes = 4; }
  std::int32_t label(std::int64_t index) const override { return index < 90 ? 0 : index < 96 ? 1 : 3; }
};

/// Samples and what was drawn for them over the next `batches` batches.
std::vector<std::pair<std::int64_t, int>> draws(Loader& loader, int batches) {
  std::vector<std::pair<std::int64_t, int>> seen;
  for (int i = 0; i < batches; ++i) {
    const Batch& batch = loader.next();
    for (std::size_t row = 0; row < get_labels(batch).size(); ++row) {
      seen.emplace_back(batch.sample_indices[row], get_pixels(batch)[3 * row + 1]);
    }
  }
  return seen;
}

TEST(BalancedSampling, DrawsEveryClassAlikeAndEverySampleOfASmallOne) {
  const UnevenDataset data;
  Loader loader(data, {.batch_size = 10, .workers = 2, .seed = 3, .order = SampleOrder::balanced});
  std::set<std::int64_t> of_large;
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::map<std::int32_t, int> classes;
    std::map<std::int64_t, int> samples;
    std::map<std::int64_t, std::set<int>> drawn;
    for (const auto& [index, draw] : draws(loader, 10)) {
      ++classes[data.label(index)];
      ++samples[index];
      drawn[index].insert(draw);
      if (index < 90) of_large.insert(index);
    }
    EXPECT_EQ(classes, (std::map<std::int32_t, int>{{0, 34}, {1, 33}, {3, 33}}));
    for (std::int64_t index = 90; index < 100; ++index) {
      const int times = index < 96 ? 5 : 8;
      EXPECT_TRUE(samples[index] == times || samples[index] == times + 1) << index << ": " << samples[index];
      EXPECT_GT(drawn[index].size(), 2u) << "is not varied alike each time";
    }
  }
  EXPECT_GT(of_large.size(), 60u) << "each epoch has others";
}

TEST(BalancedSampling, IsTheSameForRanksWorkersAndAfterAResume) {
  const UnevenDataset data;
  Loader whole(data, {.batch_size = 20, .workers = 0, .seed = 3, .order = SampleOrder::balanced});
  const auto all = draws(whole, 10);
  std::vector<std::pair<std::int64_t, int>> shared(all.size());
  for (int rank = 0; rank < 2; ++rank) {
    Loader part(
        data,
        {.batch_size = 10, .workers = 2, .seed = 3, .order = SampleOrder::balanced, .rank = rank, .world_size = 2});
    const auto mine = draws(part, 10);
    for (std::size_t i = 0; i < mine.size(); ++i)
      shared[i / 10 * 20 + static_cast<std::size_t>(rank) * 10 + i % 10] = mine[i];
  }
  EXPECT_EQ(shared, all);
  Loader resumed(data, {.batch_size = 20, .workers = 2, .seed = 3, .order = SampleOrder::balanced});
  resumed.seek(1, 2);
  EXPECT_EQ(draws(resumed, 3), decltype(all)(all.begin() + 140, all.end()));
}

TEST(Permutation, VisitsEveryIndexOnce) {
  for (const std::int64_t count : {1, 2, 3, 5, 64, 65, 1000}) {
    const Permutation order(7, 3, count);
    std::set<std::int64_t> seen;
    for (std::int64_t i = 0; i < count; ++i) seen.insert(order[i]);
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), count);
    EXPECT_EQ(*seen.begin(), 0);
    EXPECT_EQ(*seen.rbegin(), count - 1);
  }
}

TEST(WindowedPermutation, VisitsEveryIndexOnce) {
  for (const std::int64_t count : {1, 63, 200, 4096, 10'007}) {
    for (const std::int64_t window : {0, 1, 128, 1000, 20'000}) {
      const WindowedPermutation order(7, 3, count, window);
      std::set<std::int64_t> seen;
      for (std::int64_t i = 0; i < count; ++i) seen.insert(order[i]);
      EXPECT_EQ(static_cast<std::int64_t>(seen.size()), count) << "window " << window;
      EXPECT_EQ(*seen.begin(), 0);
      EXPECT_EQ(*seen.rbegin(), count - 1);
    }
  }
}

TEST(WindowedPermutation, ReadsBlocksInRandomOrderAndMixesThem) {
  constexpr std::int64_t count = 100'000, window = 6400, block = window / WindowedPermutation::blocks_per_window;
  const WindowedPermutation order(7, 3, count, window), next(7, 4, count, window);
  std::set<std::int64_t> first_blocks, begins;
  std::int64_t neighbours = 0, alike = 0;
  for (std::int64_t i = 0; i < window; ++i) {
    first_blocks.insert(order[i] / block);
    begins.insert(order[i] / window);
    neighbours += order[i + 1] == order[i] + 1;
    alike += order[i] == next[i];
  }
  EXPECT_LE(first_blocks.size(), 2u * WindowedPermutation::blocks_per_window) << "a block may lie across two";
  EXPECT_GT(begins.size(), 10u) << "blocks of a window are from all of the file";
  EXPECT_LT(neighbours, window / 50);
  EXPECT_LT(alike, 10);
}

TEST(Permutation, DependsOnSeedAndEpochAndLeavesFewInPlace) {
  const Permutation a(1, 0, 1000), b(1, 1, 1000), c(2, 0, 1000);
  int same_epoch = 0, same_seed = 0, in_place = 0;
  for (int i = 0; i < 1000; ++i) {
    same_epoch += a[i] == b[i];
    same_seed += a[i] == c[i];
    in_place += a[i] == i;
  }
  EXPECT_LT(same_epoch, 10);
  EXPECT_LT(same_seed, 10);
  EXPECT_LT(in_place, 10);
}

TEST(Loader, GivesTheSameBatchesForAnyWorkerCount) {
  const CountingDataset data(103);
  std::vector<std::vector<int>> traces;
  for (const int workers : {0, 1, 4}) {
    Loader loader(data, {.batch_size = 10, .workers = workers, .seed = 5});
    traces.push_back(trace(loader, 25));
  }
  EXPECT_EQ(traces[0], traces[1]);
  EXPECT_EQ(traces[0], traces[2]);
}

TEST(Loader, AugmentsDifferentlyEachEpoch) {
  const CountingDataset data(20);
  Loader loader(data, {.batch_size = 20, .workers = 0, .order = SampleOrder::sequential});
  const std::vector<int> first = trace(loader, 1), second = trace(loader, 1);
  EXPECT_NE(first, second);
}

/// The sides of the next batches' images.
std::vector<int> sides(Loader& loader, int batches) {
  std::vector<int> found;
  for (int i = 0; i < batches; ++i) found.push_back(find_image_size(loader.next()).height);
  return found;
}

TEST(Loader, DrawsTheSizeOfAStepsImagesAlikeForWorkersRanksAndMicroBatches) {
  const CountingDataset data(64);
  LoaderOptions options{.batch_size = 8, .workers = 0, .seed = 9, .sizes = {2, 3, 5}};
  Loader plain(data, options);
  const std::vector<int> expected = sides(plain, 24);
  EXPECT_EQ(std::set<int>(expected.begin(), expected.end()), (std::set<int>{2, 3, 5}));
  options.workers = 3;
  Loader threaded(data, options);
  EXPECT_EQ(sides(threaded, 10), std::vector<int>(expected.begin(), expected.begin() + 10));
  threaded.seek(1, 3);
  EXPECT_EQ(sides(threaded, 6), std::vector<int>(expected.begin() + 11, expected.begin() + 17));
  options.batch_size = 4;
  options.rank = 1;
  options.world_size = 2;
  Loader second(data, options);
  EXPECT_EQ(sides(second, 24), expected);
  options.rank = 0;
  options.world_size = 1;
  options.batches_per_step = 2;
  Loader halves(data, options);
  const std::vector<int> both = sides(halves, 48);
  for (std::size_t i = 0; i < both.size(); ++i) EXPECT_EQ(both[i], expected[i / 2]) << i;
}

TEST(Loader, GivesSingleSamplesASizeOfTheirOwn) {
  const CountingDataset data(6);
  const auto choose_size = [](std::int64_t index) { return ImageSize(index % 3 + 2); };
  for (const int workers : {0, 3}) {
    Loader loader(data, {.workers = workers, .order = SampleOrder::sequential, .choose_size = choose_size});
    EXPECT_EQ(sides(loader, 6), (std::vector<int>{2, 3, 4, 2, 3, 4}));
  }
}

/// Every third image is higher than wide.
class TwoAspectsDataset final : public CountingDataset {
 public:
  using CountingDataset::CountingDataset;
  ImageAspect aspect(std::int64_t index) const override {
    return index % 3 == 0 ? ImageAspect::tall : ImageAspect::wide;
  }
};

const std::vector<ImageSize> two_aspects{ImageSize(2, 4), ImageSize(4, 2)};

TEST(GroupedSteps, HaveImagesAndASizeOfOneForm) {
  constexpr int epochs = 30, steps = 8;
  const TwoAspectsDataset data(64);
  Loader loader(data, {.batch_size = 8, .workers = 2, .seed = 5, .sizes = two_aspects});
  int tall_steps = 0;
  std::set<std::int64_t> tall_samples;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    std::map<std::int64_t, int> times;
    int of_epoch = 0;
    for (int step = 0; step < steps; ++step) {
      const Batch& batch = loader.next();
      const ImageSize size = find_image_size(batch);
      const ImageAspect form = get_aspect(size.height, size.width);
      of_epoch += form == ImageAspect::tall ? 1 : 0;
      for (const std::int64_t index : batch.sample_indices) {
        EXPECT_EQ(data.aspect(index), form) << index;
        ++times[index];
        if (form == ImageAspect::tall) tall_samples.insert(index);
      }
    }
    EXPECT_TRUE(of_epoch == 2 || of_epoch == 3) << of_epoch << " of 8 for 22 of 64 images";
    const auto repeated = std::ranges::count_if(times, [](const auto& entry) { return entry.second > 1; });
    EXPECT_LE(repeated, 8) << "fewer than two steps'";
    tall_steps += of_epoch;
  }
  EXPECT_NEAR(tall_steps, epochs * steps * 22.0 / 64, 8);
  EXPECT_EQ(tall_samples.size(), 22U) << "each epoch has others";
}

TEST(GroupedSteps, AreTheSameForRanksMicroBatchesAndAfterAResume) {
  const TwoAspectsDataset data(64);
  LoaderOptions options{.batch_size = 8, .workers = 0, .seed = 5, .sizes = two_aspects};
  Loader whole(data, options);
  std::vector<std::int64_t> all;
  for (int i = 0; i < 16; ++i) {
    const std::vector<std::int64_t>& drawn = whole.next().sample_indices;
    all.insert(all.end(), drawn.begin(), drawn.end());
  }
  options.batch_size = 4;
  options.batches_per_step = 2;
  Loader halves(data, options);
  options.batches_per_step = 1;
  options.world_size = 2;
  Loader first(data, options);
  options.rank = 1;
  options.workers = 2;
  Loader second(data, options);
  second.seek(1, 0);
  for (std::size_t half = 0; half < 32; ++half) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(4 * half);
    const std::vector<std::int64_t> expected(begin, begin + 4);
    EXPECT_EQ(halves.next().sample_indices, expected) << half;
    if (half % 2 == 0) {
      EXPECT_EQ(first.next().sample_indices, expected) << half;
    } else if (half > 16) {
      EXPECT_EQ(second.next().sample_indices, expected) << half;
    }
  }
}

TEST(GroupedSteps, AreLeftToImagesAndSizesOfBothForms) {
  const CountingDataset wide(64);
  Loader one_form(wide, {.batch_size = 8, .workers = 0, .seed = 5, .sizes = two_aspects});
  const std::vector<int> heights = sides(one_form, 16);
  EXPECT_EQ(std::set<int>(heights.begin(), heights.end()), (std::set<int>{2, 4})) << "drawn for any image";
  const TwoAspectsDataset both(64);
  Loader one_size(both, {.batch_size = 8, .workers = 0, .seed = 5, .sizes = {ImageSize(2, 4)}});
  std::set<std::int64_t> drawn;
  for (int i = 0; i < 8; ++i) {
    const std::vector<std::int64_t>& indices = one_size.next().sample_indices;
    drawn.insert(indices.begin(), indices.end());
  }
  EXPECT_EQ(drawn.size(), 64U) << "every sample once";
}

TEST(Loader, SeekContinuesAsIfItHadReadUpToThere) {
  const CountingDataset data(64);
  Loader straight(data, {.batch_size = 8, .workers = 2, .seed = 9});
  trace(straight, 8 + 3);
  Loader resumed(data, {.batch_size = 8, .workers = 2, .seed = 9});
  trace(resumed, 2);
  resumed.seek(1, 3);
  const Batch& batch = resumed.next();
  EXPECT_EQ(batch.epoch, 1);
  EXPECT_EQ(batch.index, 3);
  resumed.seek(1, 3);
  EXPECT_EQ(trace(resumed, 12), trace(straight, 12));
}

TEST(Loader, RanksTogetherReadWhatOneRankReads) {
  const CountingDataset data(50);
  Loader whole(data, {.batch_size = 12, .workers = 1, .seed = 4});
  std::vector<std::unique_ptr<Loader>> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.push_back(std::make_unique<Loader>(
        data, LoaderOptions{.batch_size = 4, .workers = 1, .seed = 4, .rank = rank, .world_size = 3}));
  }
  for (int batch = 0; batch < 8; ++batch) {
    std::vector<std::int32_t> joined;
    for (auto& rank : ranks) {
      const auto part = valid_labels(rank->next());
      joined.insert(joined.end(), part.begin(), part.end());
    }
    EXPECT_EQ(joined, valid_labels(whole.next()));
  }
}

TEST(Loader, EvaluationReadsEverySampleOnceOverAllRanks) {
  for (const std::int64_t size : {1, 7, 24, 25, 31}) {
    const CountingDataset data(size);
    std::multiset<std::int32_t> seen;
    std::int64_t batches = -1;
    for (int rank = 0; rank < 4; ++rank) {
      Loader loader(data, {.batch_size = 3,
                           .workers = 2,
                           .order = SampleOrder::sequential,
                           .remainder = Remainder::keep,
                           .rank = rank,
                           .world_size = 4,
                           .epochs = 1});
      if (batches >= 0) {
        EXPECT_EQ(loader.batches_per_epoch(), batches);
      }
      batches = loader.batches_per_epoch();
      for (int pass = 0; pass < 2; ++pass) {  // an evaluation loader is used again and again
        loader.seek(0, 0);
        for (std::int64_t i = 0; i < batches; ++i) {
          const auto labels = valid_labels(loader.next());
          if (pass == 1) seen.insert(labels.begin(), labels.end());
        }
      }
    }
    std::vector<std::int32_t> expected(static_cast<std::size_t>(size));
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(std::vector<std::int32_t>(seen.begin(), seen.end()), expected) << size;
  }
}

TEST(Loader, PadsAShortBatchAsItsTensorsSay) {
  const CountingDataset data(5);
  Loader loader(data, {.batch_size = 4, .workers = 0, .order = SampleOrder::sequential, .remainder = Remainder::keep});
  loader.next();
  const Batch& last = loader.next();
  EXPECT_EQ(last.count, 1);
  EXPECT_TRUE(std::ranges::equal(get_labels(last), std::vector<std::int32_t>{4, -1, -1, -1}));
  EXPECT_EQ(last.sample_indices, (std::vector<std::int64_t>{4, -1, -1, -1}));
  EXPECT_EQ(get_pixels(last)[3], 0);
}

TEST(Loader, APartForEvaluationIsSpacedEvenlyOverAll) {
  const CountingDataset data(100);
  std::vector<std::int32_t> seen;
  for (int rank = 0; rank < 2; ++rank) {
    Loader loader(data, {.batch_size = 3,
                         .workers = 0,
                         .order = SampleOrder::sequential,
                         .remainder = Remainder::keep,
                         .rank = rank,
                         .world_size = 2,
                         .samples = 8});
    for (std::int64_t b = 0; b < loader.batches_per_epoch(); ++b) {
      for (const std::int32_t label : valid_labels(loader.next())) seen.push_back(label);
    }
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<std::int32_t>{0, 12, 25, 37, 50, 62, 75, 87}));
}

TEST(Loader, ReplacesBadTrainingSamplesByTheNextGoodOne) {
  const CountingDataset data(10, {3, 4, 9});
  for (const int workers : {0, 3}) {
    Loader loader(data, {.batch_size = 10, .workers = workers, .max_bad_samples = 3});
    for (int epoch = 0; epoch < 3; ++epoch) {
      std::vector<std::int32_t> labels = valid_labels(loader.next());
      std::sort(labels.begin(), labels.end());
      EXPECT_EQ(labels, (std::vector<std::int32_t>{0, 0, 1, 2, 5, 5, 5, 6, 7, 8}));
    }
    EXPECT_EQ(loader.bad_samples().count, 3);  // distinct ones, over all epochs
    EXPECT_EQ(loader.bad_samples().first.size(), 3u);
  }
}

TEST(Loader, LeavesBadSamplesOutOfAnEvaluation) {
  const CountingDataset data(6, {1, 5});
  Loader loader(data, {.batch_size = 4,
                       .workers = 1,
                       .order = SampleOrder::sequential,
                       .remainder = Remainder::keep,
                       .max_bad_samples = 2});
  EXPECT_EQ(valid_labels(loader.next()), (std::vector<std::int32_t>{0, 2, 3}));
  EXPECT_EQ(valid_labels(loader.next()), (std::vector<std::int32_t>{4}));
}

TEST(Loader, NamesTheFileWhenThereAreTooManyBadSamples) {
  const CountingDataset data(8, {2, 6});
  for (const std::int64_t limit : {0, 1}) {
    Loader loader(data, {.batch_size = 4, .workers = 2, .order = SampleOrder::sequential, .max_bad_samples = limit});
    const std::string message = get_error([&] {
      loader.next();
      loader.next();
    });
    EXPECT_NE(message.find(limit == 0 ? "image2.jpg" : "image6.jpg"), std::string::npos) << message;
  }
}

TEST(Loader, EndsWhenTheShareOfBadSamplesIsTooLarge) {
  const CountingDataset data(8, {2, 6});
  for (const double share : {0.25, 0.2}) {
    Loader loader(data, {.batch_size = 8,
                         .order = SampleOrder::sequential,
                         .remainder = Remainder::keep,
                         .max_bad_samples = 100,
                         .max_bad_share = share});
    if (share == 0.25) {
      EXPECT_EQ(loader.next().count, 6);
      continue;
    }
    const std::string message = get_error([&] { loader.next(); });
    EXPECT_NE(message.find("image6.jpg"), std::string::npos) << message;
    EXPECT_NE(message.find("more bad samples than data.max_bad_share 0.2 of 8 samples allows"), std::string::npos)
        << message;
  }
}

TEST(BadSamples, NameTheFirstThreeAndCountTheRest) {
  BadSamples samples;
  samples.add({1, {"a.jpg: damaged"}});
  EXPECT_EQ(samples.text("training"), "1 training sample could not be read and was left out: a.jpg: damaged");
  for (const char* name : {"b", "c", "d"}) samples.add({1, {name}});
  EXPECT_EQ(samples.text("evaluation"),
            "4 evaluation samples could not be read and were left out: a.jpg: damaged; b; c; and 1 more");
}

TEST(Loader, EndsWhenEverySampleIsBad) {
  const CountingDataset data(3, {0, 1, 2});
  Loader loader(data, {.batch_size = 2, .workers = 2, .max_bad_samples = 100});
  EXPECT_NE(get_error([&] { loader.next(); }).find("every sample of the data set is bad; the first: "),
            std::string::npos);
}

TEST(Loader, RethrowsAWorkersExceptionInBatchOrder) {
  CountingDataset data(40);
  data.fatal = 25;
  Loader loader(data, {.batch_size = 10, .workers = 4, .order = SampleOrder::sequential});
  loader.next();
  loader.next();
  EXPECT_THROW(loader.next(), std::runtime_error);
}

TEST(Loader, ShutsDownWithWorkInFlight) {
  const CountingDataset data(1000);
  for (int i = 0; i < 50; ++i) {
    Loader loader(data, {.batch_size = 7, .workers = 3});
    for (int k = 0; k < i % 4; ++k) loader.next();
    if (i % 2 == 0) loader.seek(i, i);
  }
}

TEST(Loader, RefusesADataSetSmallerThanABatch) {
  const CountingDataset data(5);
  EXPECT_THROW(Loader(data, {.batch_size = 3, .world_size = 2}), Error);
}

TEST(Loader, CountsTheTimeSpentWaiting) {
  const CountingDataset data(100);
  Loader loader(data, {.batch_size = 10, .workers = 0});
  trace(loader, 3);
  EXPECT_GT(loader.reader_seconds(), 0.0);
}

}  // namespace
}  // namespace ptrain
