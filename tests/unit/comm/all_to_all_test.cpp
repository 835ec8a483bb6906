// All-to-alls of as many bytes as each pair of ranks agrees on.
#include "tests/unit/comm/run_ranks.h"

#include <gtest/gtest.h>

#include <array>

namespace ptrain {
namespace all_to_all_test {

using testing::run_ranks;

/// Numbers that `from` sends `to`: their count differs by pair and is 0 for some.
std::vector<float> get_message(int from, int to, int round) {
  std::vector<float> numbers(static_cast<std::size_t>((from * 7 + to * 3 + round) % 5 * 100));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(from * 10'000 + to * 1'000) + static_cast<float>(i);
  return numbers;
}

/// What a rank sends and has received in one exchange.
struct Buffers {
  std::vector<std::vector<float>> sent, received;

  Buffers(int rank, int ranks, int round) {
    for (int other = 0; other < ranks; ++other) {
      sent.push_back(get_message(rank, other, round));
      received.emplace_back(get_message(other, rank, round).size());
    }
  }

  AllToAll get_exchange() {
    AllToAll exchange;
    for (const auto& part : sent) exchange.sent.push_back(std::as_bytes(std::span(part)));
    for (auto& part : received) exchange.received.push_back(std::as_writable_bytes(std::span(part)));
    return exchange;
  }
};

void expect_none(const std::vector<std::exception_ptr>& failures) {
  for (const std::exception_ptr& failure : failures) EXPECT_EQ(failure, nullptr);
}

TEST(AllToAll, GivesEveryRankWhatEachSendsIt) {
  for (const int ranks : {1, 2, 3, 8}) {
    expect_none(run_ranks(ranks, 10, [&](Communicator& communicator) {
      std::vector<Buffers> rounds;
      double sent_bytes = 0;
      for (int round = 0; round < 3; ++round) {
        rounds.emplace_back(communicator.rank(), ranks, round);
        for (const auto& part : rounds.back().sent) sent_bytes += static_cast<double>(part.size() * sizeof(float));
      }
      for (Buffers& buffers : rounds) communicator.start_all_to_all(buffers.get_exchange());
      communicator.wait_all_reduces();
      for (int round = 0; round < 3; ++round) {
        for (int other = 0; other < ranks; ++other) {
          EXPECT_EQ(rounds[static_cast<std::size_t>(round)].received[static_cast<std::size_t>(other)],
                    get_message(other, communicator.rank(), round));
        }
      }
      EXPECT_EQ(communicator.times().all_reduces, 3);
      EXPECT_EQ(communicator.times().bytes, 0.5 * sent_bytes);
    }));
  }
}

/// So that one buffer serves several exchanges.
TEST(AllToAll, CallsBackBeforeTheNextBegins) {
  expect_none(run_ranks(3, 10, [&](Communicator& communicator) {
    std::vector<float> received(3);
    std::vector<float> sums(3);
    std::vector<float> sent{1, 2, 4, 8};
    for (const float& number : sent) {
      AllToAll exchange;
      for (int other = 0; other < 3; ++other) {
        exchange.sent.push_back(std::as_bytes(std::span(&number, 1)));
        exchange.received.push_back(std::as_writable_bytes(std::span(&received[static_cast<std::size_t>(other)], 1)));
      }
      exchange.then = [&] {
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = 3 * sums[i] + received[i];
      };
      communicator.start_all_to_all(std::move(exchange));
    }
    communicator.wait_all_reduces();
    EXPECT_EQ(sums, std::vector<float>(3, 1 * 27 + 2 * 9 + 4 * 3 + 8));
  }));
}

TEST(AllToAll, ARankThatFailsInOneEndsTheOthersNamed) {
  const auto failures = run_ranks(4, 30, [](Communicator& communicator) {
    communicator.note("forward and backward", 7);
    for (int round = 0;; ++round) {
      if (round == 3 && communicator.rank() == 2) throw std::runtime_error("the disk is full");
      Buffers buffers(communicator.rank(), 4, round);
      communicator.start_all_to_all(buffers.get_exchange());
      communicator.wait_all_reduces();
    }
  });
  for (const std::size_t rank : {0u, 1u, 3u}) {
    try {
      std::rethrow_exception(failures[rank]);
    } catch (const RankFailure& failure) {
      EXPECT_EQ(failure.rank(), 2);
      EXPECT_NE(std::string(failure.what()).find("failed: the disk is full; it last did: step 7"), std::string::npos);
    }
  }
}

TEST(AllToAll, NoticesThatTheRanksDisagree) {
  const auto failures = run_ranks(2, 30, [](Communicator& communicator) {
    const std::array<std::byte, 4> sent{};
    AllToAll exchange{{2, std::span<const std::byte>()}, {2, std::span<std::byte>()}};
    if (communicator.rank() == 0) exchange.sent[1] = sent;
    communicator.start_all_to_all(std::move(exchange));
    communicator.wait_all_reduces();
    communicator.barrier();
  });
  for (const std::exception_ptr& failure : failures) EXPECT_NE(failure, nullptr);
}

}  // namespace all_to_all_test
}  // namespace ptrain
