// Trainings on chats: every token that is learnt weighs the same, whichever micro-batch or rank it is in.
#include "core/io/atomic_file.h"
#include "core/passes/optimizer.h"
#include "tests/gpt2_vocabulary.h"
#include "tests/unit/train/data_parallel.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ptrain {
namespace {

using namespace testing;

class ChatTraining : public ::testing::Test {
 protected:
  /// Eight chats with answers of one to a hundred characters.
  void SetUp() override {
    write_chat_vocabulary(folder_.path());
    std::string chats;
    for (const int length : {1, 90, 3, 40, 100, 2, 7, 20}) {
      const nlohmann::json chat = {
          {"messages",
           {{{"role", "user"}, {"content", std::string("the question of ") + std::to_string(length)}},
            {{"role", "assistant"}, {"content", std::string(static_cast<std::size_t>(length), 'a')}}}}};
      chats += chat.dump() + "\n";
    }
    write_file_atomic(folder_ / "train.jsonl", chats);
  }

  /// One step of gradient descent over all chats, in their order.
  Config make_step(std::int64_t batch, std::int64_t micro_batches) const {
    Config config = gpt2_config();
    config.model.entry = find_model("llama");
    config.model.vocab_size = 0;
    config.data.source = "chat";
    config.data.path = folder_.path().string();
    config.data.train_file = "train.jsonl";
    config.data.vocab = (folder_ / "tokenizer.json").string();
    config.data.max_length = 160;
    config.data.batch_size = batch;
    config.data.shuffle = false;
    config.data.drop_last = 8 % (batch * micro_batches) == 0;
    config.train.accumulate_steps = micro_batches;
    config.train.steps = 1;
    config.train.optimizer = {.name = OptimizerKind::sgd, .lr = 0.5, .weight_decay = 0};
    return config;
  }

  const TemporaryDirectory folder_;
};

void expect_same_step(const Outcome& one, const Outcome& other) {
  EXPECT_NEAR(one.result.losses.at(0), other.result.losses.at(0), 1e-5);
  const std::vector<std::byte>&a = one.state.at(flat::master), &b = other.state.at(flat::master);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); i += sizeof(float)) {
    float x = 0, y = 0;
    std::memcpy(&x, &a[i], sizeof x);
    std::memcpy(&y, &b[i], sizeof y);
    ASSERT_NEAR(x, y, 2e-5) << i / sizeof(float);
  }
}

TEST_F(ChatTraining, ManyMicroBatchesAreOne) {
  const Outcome whole = train_and_save(make_step(8, 1));
  expect_same_step(whole, train_and_save(make_step(2, 4)));
  expect_same_step(whole, train_and_save(make_step(3, 3)));
}

TEST_F(ChatTraining, ManyRanksAreOne) {
  const Outcome whole = train_and_save(make_step(8, 1));
  for (const std::int64_t micro_batches : {1, 2}) {
    SCOPED_TRACE(micro_batches);
    const TemporaryDirectory directory;
    expect_same_step(whole, train_on_ranks(saved_to(directory, make_step(4 / micro_batches, micro_batches)), 2)[0]);
  }
}

TEST_F(ChatTraining, RanksInFixedOrderAreMicroBatchesBitForBit) {
  Config config = make_step(2, 2);
  config.dist.reproducible = true;
  const TemporaryDirectory two, four;
  const Outcome of_two = train_on_ranks(saved_to(two, config), 2)[0];
  config.train.accumulate_steps = 1;
  const Outcome of_four = train_on_ranks(saved_to(four, config), 4)[0];
  EXPECT_EQ(of_two.result.losses, of_four.result.losses);
  EXPECT_TRUE(of_two.state.at(flat::master) == of_four.state.at(flat::master));
}

TEST_F(ChatTraining, PackedChatsAreLearntAsPaddedOnes) {
  expect_same_step(train_and_save(make_step(8, 1)), train_and_save(packed(make_step(8, 1))));
}

TEST_F(ChatTraining, PerplexityIsOfTheTokensThatAreLearnt) {
  const auto perplexity = [&](std::int64_t batch) {
    Config config = make_step(8, 1);
    config.data.dev_file = "train.jsonl";
    config.train.optimizer.lr = 0;
    config.eval.every_epochs = 1;
    config.eval.batch_size = batch;
    return get_value(train(config).result.evaluations.back(), "perplexity");
  };
  EXPECT_NEAR(perplexity(8), perplexity(3), 1e-3 * perplexity(8));
  EXPECT_NEAR(std::log(perplexity(8)), train(make_step(8, 1)).result.losses.front(), 1e-4);
}

}  // namespace
}  // namespace ptrain
