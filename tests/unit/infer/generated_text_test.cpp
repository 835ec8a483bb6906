#include "core/infer/generated_text.h"

#include "core/base/errors.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

/// A token for each byte, and one that ends a text.
class Bytes final : public Tokenizer {
 public:
  static constexpr std::int32_t end = 256;

  Bytes() { special_tokens_.separator = end; }
  int vocab_size() const override { return end + 1; }
  std::int32_t unknown_id() const override { return -1; }
  void tokenize(std::string_view text, std::vector<std::int32_t>& ids) const override {
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  }
  std::string decode(std::span<const std::int32_t> ids) const override { return {ids.begin(), ids.end()}; }
};

const Bytes bytes;

GeneratedText begin(std::vector<std::string> stops, std::int64_t tokens = 9, std::int64_t max_length = 20) {
  GenerationOptions options;
  options.tokens = tokens;
  options.stops = std::move(stops);
  options.sampling.top_k = 1;
  return {bytes, "so", options, max_length, 0};
}

/// Appends a token that the model is sure of.
void add(GeneratedText& text, std::int32_t id) {
  std::vector<float> logits(Bytes::end + 1);
  logits[static_cast<std::size_t>(id)] = 1;
  text.add(logits);
}
void add(GeneratedText& text, std::string_view some) {
  for (const char c : some) add(text, static_cast<unsigned char>(c));
}

TEST(GeneratedText, SettlesWholeCharacters) {
  GeneratedText text = begin({});
  add(text, "a\xe2\x82");
  EXPECT_EQ(text.settled(), 1u);
  add(text, "\xac");  // the euro
  EXPECT_EQ(text.settled(), 4u);
  add(text, "\xff");
  EXPECT_EQ(text.settled(), 4u);
  add(text, Bytes::end);
  EXPECT_TRUE(text.result().ended);
  EXPECT_EQ(text.settled(), 5u);
}

TEST(GeneratedText, SettlesNothingThatMayBeginAStop) {
  GeneratedText text = begin({"abc", "b!"});
  add(text, "xab");
  EXPECT_EQ(text.settled(), 1u);
  add(text, "d");
  EXPECT_EQ(text.settled(), 4u);
  add(text, "abc");
  EXPECT_TRUE(text.result().stopped);
  EXPECT_FALSE(text.is_open());
  EXPECT_EQ(text.result().text, "xabd");
  EXPECT_EQ(text.settled(), 4u);
}

TEST(GeneratedText, EndsWhereItIsFullOrLongEnough) {
  GeneratedText some = begin({}, 2);
  add(some, "ab");
  EXPECT_FALSE(some.is_open());
  EXPECT_FALSE(some.result().is_full);
  GeneratedText full = begin({}, 9, 4);
  add(full, "ab");
  EXPECT_FALSE(full.is_open());
  EXPECT_TRUE(full.result().is_full);
  EXPECT_THROW(begin({}, 9, 2), Error);
}

}  // namespace
}  // namespace ptrain
