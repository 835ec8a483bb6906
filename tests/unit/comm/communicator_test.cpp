// Ranks that are threads: what they exchange, what it costs to ask, and how they end when one of them fails.
#include "core/base/host_name.h"
#include "core/base/rank_slice.h"
#include "core/comm/bench.h"
#include "core/comm/pairing.h"
#include "core/cpu/cpu_backend.h"
#include "tests/unit/comm/run_ranks.h"

#include <gtest/gtest.h>

#include <future>

namespace ptrain {
namespace {

using testing::run_ranks;

/// What each rank threw, by rank; "own: ..." where no other rank reported it.
std::vector<std::string> messages(const std::vector<std::exception_ptr>& failures) {
  std::vector<std::string> errors(failures.size());
  for (std::size_t rank = 0; rank < failures.size(); ++rank) {
    try {
      if (failures[rank]) std::rethrow_exception(failures[rank]);
    } catch (const RankFailure& failure) {
      errors[rank] = failure.what();
    } catch (const std::exception& error) {
      errors[rank] = fmt::format("own: {}", error.what());
    }
  }
  return errors;
}

void expect_none(const std::vector<std::exception_ptr>& failures) {
  for (const std::string& error : messages(failures)) EXPECT_EQ(error, "");
}

TEST(Communicator, AllReducesInTheBackgroundGiveEveryRankTheSum) {
  for (const int world_size : {1, 2, 3, 8}) {
    expect_none(run_ranks(world_size, 10, [&](Communicator& communicator) {
      std::vector<std::vector<float>> buffers;
      for (const std::size_t size : {1u, 17u, 4096u}) {
        buffers.emplace_back(size, static_cast<float>(communicator.rank() + 1));
      }
      for (int round = 0; round < 3; ++round) {
        for (auto& buffer : buffers) {
          std::fill(buffer.begin(), buffer.end(), static_cast<float>(communicator.rank() + 1));
          communicator.start_all_reduce(buffer.data(), static_cast<std::int64_t>(buffer.size()), DType::f32, 0.5f);
        }
        communicator.wait_all_reduces();
        const float expected = 0.25f * static_cast<float>(world_size * (world_size + 1));
        for (const auto& buffer : buffers) {
          for (const float value : buffer) ASSERT_EQ(value, expected);
        }
      }
      EXPECT_EQ(communicator.times().all_reduces, 9);
      EXPECT_EQ(communicator.times().bytes, 3 * 4.0 * (1 + 17 + 4096));
    }));
  }
}

TEST(Communicator, AReduceScatterAndAnAllGatherAreAnAllReduce) {
  for (const int world_size : {1, 2, 3, 8}) {
    expect_none(run_ranks(world_size, 10, [&](Communicator& communicator) {
      for (const std::int64_t count : {1, 17, 4096}) {
        std::vector<float> sums(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < sums.size(); ++i)
          sums[i] = 1.0f / static_cast<float>(i + 3 * static_cast<std::size_t>(communicator.rank()) + 1);
        std::vector<float> slices = sums;
        communicator.start_all_reduce(sums.data(), count, DType::f32, 0.5f);
        communicator.start_reduce_scatter(slices.data(), count, DType::f32, 0.5f);
        communicator.wait_all_reduces();
        const RankSlice own = rank_slice(count, communicator.rank(), world_size);
        for (std::size_t i = 0; i < slices.size(); ++i) {
          const auto at = static_cast<std::int64_t>(i);
          if (at < own.begin || at >= own.end) slices[i] = -1;
        }
        communicator.start_all_gather(slices.data(), count, DType::f32);
        communicator.wait_all_reduces();
        EXPECT_EQ(slices, sums);
      }
    }));
  }
}

TEST(Communicator, AllGathersCopyEveryRanksSliceToAll) {
  for (const int world_size : {1, 2, 3, 8}) {
    expect_none(run_ranks(world_size, 10, [&](Communicator& communicator) {
      for (const std::int64_t count : {1, 17, 4096}) {
        std::vector<float> buffer(static_cast<std::size_t>(count), -1);
        const RankSlice own = rank_slice(count, communicator.rank(), world_size);
        for (std::int64_t i = own.begin; i < own.end; ++i) buffer[static_cast<std::size_t>(i)] = static_cast<float>(i);
        communicator.start_all_gather(buffer.data(), count, DType::f32);
        communicator.wait_all_reduces();
        for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(buffer[static_cast<std::size_t>(i)], static_cast<float>(i));
      }
      EXPECT_EQ(communicator.times().all_reduces, 3);
      EXPECT_EQ(communicator.times().bytes, 0.5 * 4.0 * (1 + 17 + 4096));
    }));
  }
}

TEST(Communicator, EveryRankMeetsEveryOtherOnceInTheRoundsOfATournament) {
  for (const int ranks : {2, 3, 4, 7, 8, 1024}) {
    EXPECT_EQ(count_rounds(ranks), ranks % 2 == 0 ? ranks - 1 : ranks);
    std::vector<int> met(static_cast<std::size_t>(ranks), 0);
    for (std::int64_t round = 0; round < count_rounds(ranks); ++round) {
      const int partner = find_partner(1, ranks, round);
      EXPECT_EQ(find_partner(partner, ranks, round), 1) << ranks << " round " << round;
      ++met[static_cast<std::size_t>(partner)];
    }
    for (int other = 0; other < ranks; ++other) {
      EXPECT_EQ(met[static_cast<std::size_t>(other)], other == 1 ? ranks % 2 : 1) << ranks << " meets " << other;
    }
  }
}

TEST(Communicator, SwapsBuffersBetweenPairs) {
  for (const int ranks : {2, 5}) {
    expect_none(run_ranks(ranks, 10, [&](Communicator& communicator) {
      const std::vector<std::byte> mine(1 << 16, static_cast<std::byte>(communicator.rank() + 1));
      for (std::int64_t round = 0; round < count_rounds(ranks); ++round) {
        std::vector<std::byte> theirs(mine.size());
        const int partner = find_partner(communicator.rank(), ranks, round);
        const double seconds = communicator.exchange(partner, mine, theirs);
        const bool alone = partner == communicator.rank();
        EXPECT_EQ(theirs.back(), static_cast<std::byte>(alone ? 0 : partner + 1));
        EXPECT_EQ(seconds > 0, !alone);
      }
    }));
  }
}

TEST(Communicator, GathersAndBroadcasts) {
  expect_none(run_ranks(3, 10, [](Communicator& communicator) {
    const double mine = 10 + communicator.rank();
    std::vector<double> all(3);
    communicator.all_gather({&mine, 1}, all);
    EXPECT_EQ(all, (std::vector<double>{10, 11, 12}));
    EXPECT_EQ(communicator.broadcast_text(communicator.rank() == 1 ? "from rank 1" : "", 1), "from rank 1");
  }));
}

TEST(Communicator, ARankThatFailsEndsTheOthersNamed) {
  const auto errors = messages(run_ranks(4, 30, [](Communicator& communicator) {
    communicator.note("forward and backward", 7);
    float value = 1;
    communicator.start_all_reduce(&value, 1, DType::f32, 1);
    communicator.wait_all_reduces();
    if (communicator.rank() == 2) throw std::runtime_error("the disk is full");
    for (;;) communicator.barrier();
  }));
  for (const int rank : {0, 1, 3}) {
    const std::string& error = errors[static_cast<std::size_t>(rank)];
    EXPECT_NE(error.find("rank 2 on " + host_name() + " failed: the disk is full"), std::string::npos) << error;
    EXPECT_NE(error.find("step 7: forward and backward"), std::string::npos) << error;
  }
  EXPECT_EQ(errors[2], "own: the disk is full");
}

TEST(Communicator, ARankThatHangsEndsTheOthersWithinTheTimeout) {
  const auto errors = messages(run_ranks(3, 0.6, [](Communicator& communicator) {
    communicator.note("waiting for data", 3);
    if (communicator.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2000));
    communicator.barrier();
  }));
  for (const std::string& error : errors) {
    EXPECT_NE(error.find("rank 1 on"), std::string::npos) << error;
    EXPECT_NE(error.find("kept the others waiting for 0.6 s; it last did: step 3: waiting for data"), std::string::npos)
        << error;
  }
}

TEST(Communicator, ARankAtWorkOrBusyIsNotHung) {
  expect_none(run_ranks(3, 0.4, [](Communicator& communicator) {
    if (communicator.rank() == 1) {
      for (int i = 0; i < 10; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        communicator.note_progress();
      }
    }
    communicator.barrier();
    if (communicator.rank() == 2) {
      const Communicator::BusyScope busy(&communicator, "writing a checkpoint");
      std::this_thread::sleep_for(std::chrono::milliseconds(1000));
    }
    communicator.barrier();
  }));
}

TEST(Communicator, EndsAProcessWhoseRankDoesNotNoticeAFailure) {
  auto transports = make_thread_transports(2, 30);
  std::string reported;
  {
    Communicator deaf(std::move(transports[0]), {0.2, [&](const std::string& message) { reported = message; }});
    Communicator failing(std::move(transports[1]));
    failing.abort("no more memory");
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
  }
  EXPECT_NE(reported.find("rank 1"), std::string::npos) << reported;
}

TEST(Communicator, ReportsALossWhileTheTrainingThreadIsAtWork) {
  auto transports = make_thread_transports(2, 30);
  Communicator surviving(std::move(transports[0]));
  Communicator failing(std::move(transports[1]));
  std::promise<std::pair<int, std::string>> promise;
  const Communicator::OnFailure watch(surviving, [&](const RankFailure* lost) {
    promise.set_value({lost->rank(), lost->what()});
  });
  failing.abort("no more memory");
  std::future<std::pair<int, std::string>> loss = promise.get_future();  // this thread calls no more of `surviving`
  ASSERT_EQ(loss.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  const auto [rank, message] = loss.get();
  EXPECT_EQ(rank, 1);
  EXPECT_NE(message.find("no more memory"), std::string::npos) << message;
}

TEST(Communicator, MakesTheFailureCallsThatStandLastComeFirstCalled) {
  auto transports = make_thread_transports(2, 30);
  Communicator surviving(std::move(transports[0]));
  Communicator failing(std::move(transports[1]));
  std::string called;
  {
    const Communicator::OnFailure first(failing, [&](const RankFailure* lost) {
      EXPECT_EQ(lost, nullptr) << "it failed itself";
      called += "first ";
    });
    std::optional<Communicator::OnFailure> gone;
    gone.emplace(failing, [&](const RankFailure*) { called += "gone "; });
    const Communicator::OnFailure last(failing, [&](const RankFailure*) { called += "last "; });
    gone.reset();
    failing.abort("no more memory");
  }
  EXPECT_EQ(called, "last first ");
}

TEST(Communicator, ExposedTimeIsThePartThatWasWaitedFor) {
  expect_none(run_ranks(2, 10, [](Communicator& communicator) {
    std::vector<float> data(1 << 20);
    communicator.start_all_reduce(data.data(), 1 << 20, DType::f32, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // long enough to be done by then
    communicator.wait_all_reduces();
    const ExchangeTimes hidden = communicator.times();
    EXPECT_GT(hidden.transfer_seconds, 0);
    EXPECT_EQ(hidden.exposed_seconds, 0);
    // On a busy core one may be done before it is waited for; not all of them.
    for (int round = 0; round < 100; ++round) {
      communicator.start_all_reduce(data.data(), 1 << 20, DType::f32, 1);
      communicator.wait_all_reduces();
    }
    EXPECT_GT(communicator.times().exposed_seconds, 0);
    EXPECT_LE(communicator.times().exposed_seconds, communicator.times().transfer_seconds);
  }));
}

TEST(Communicator, BandwidthsFollowNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(2), 1.0);
  EXPECT_DOUBLE_EQ(bus_factor(8), 1.75);
  expect_none(run_ranks(2, 10, [](Communicator& communicator) {
    const auto backend = cpu::make_backend();
    const AllReduceRate rate = measure_all_reduce(communicator, *backend, 1 << 20);
    EXPECT_EQ(rate.bytes, 1 << 20);
    EXPECT_EQ(rate.iterations, 200);
    EXPECT_DOUBLE_EQ(rate.algorithm_bandwidth, static_cast<double>(rate.bytes) / rate.seconds);
    EXPECT_DOUBLE_EQ(rate.bus_bandwidth, rate.algorithm_bandwidth);
  }));
}

}  // namespace
}  // namespace ptrain
