#include "core/io/gguf.h"

#include "core/io/atomic_file.h"
#include "core/io/safetensors.h"
#include "core/io/weights_file.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"
#include "tests/written_gguf.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace ptrain {
namespace gguf_test {

const std::string golden_file = PTRAIN_SOURCE_DIR "/tests/golden/blocks.gguf";

std::string get_rejection(const std::string& file) {
  return get_error([&] { parse_gguf(std::as_bytes(std::span(file.data(), file.size())), "w.gguf"); });
}

TEST(Gguf, EveryTypeHasTheBitsThatItsPackageGives) {
  const WeightsFile file(golden_file);
  const SafetensorsFile expected(PTRAIN_SOURCE_DIR "/tests/golden/blocks.safetensors");
  EXPECT_EQ(file.tensors().size(), 12u);
  for (const NamedTensor* tensor : file.tensors()) {
    const NamedTensor& other = expected.at(tensor->name);
    EXPECT_EQ(tensor->shape, other.shape) << tensor->name;
    const std::vector<float> values = to_floats(*tensor), right = to_floats(other);
    ASSERT_EQ(values.size(), right.size());
    EXPECT_EQ(std::memcmp(values.data(), right.data(), values.size() * sizeof(float)), 0) << tensor->name;
  }
}

TEST(Gguf, MetadataIsRead) {
  const GgufFile file(golden_file);
  EXPECT_EQ(file.architecture(), "llama");
  EXPECT_EQ(file.positive_integer("block_count"), 1);
  EXPECT_EQ(file.number("rope.freq_base"), 1e5);
  EXPECT_EQ(file.positive_integer("context_length", 77), 77);
  EXPECT_EQ(file.metadata().at("tokenizer.ggml.tokens").at(2), "\u0120b");
  const std::string message = get_error([&] { file.positive_integer("context_length"); });
  EXPECT_NE(message.find("\"llama.context_length\": expected a number"), std::string::npos) << message;
}

/// Whatever byte the file ends at, the message says that it is truncated, and nothing beyond it is read.
TEST(Gguf, ATruncatedFileIsRefusedInOneLine) {
  const std::string whole = read_file(golden_file);
  for (std::size_t size = 8; size < whole.size(); size += 97) {
    const std::string message = get_rejection(whole.substr(0, size));
    EXPECT_NE(message.find("truncated"), std::string::npos) << size << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

TEST(Gguf, DamagedFilesAreRefusedInOneLine) {
  constexpr std::uint64_t absurd = std::uint64_t{1} << 60;
  const auto expect = [](const std::string& file, std::string_view part) {
    const std::string message = get_rejection(file);
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(message.find("w.gguf: "), 0u) << message;
  };
  expect("GGML", "not GGUF");
  expect(begin(0, 0, 1).text(), "GGUF version 1: expected 2 or 3");
  expect(begin(0, 0, 0x03000000).text(), "big-endian");
  expect(begin(absurd, 0).text(), "the number of tensors: 1152921504606846976 entries in the 8 bytes");
  expect(begin(0, absurd).text(), "the number of keys: 1152921504606846976 entries");
  expect(begin(0, 1).string("k").number(13u).data(0).text(), "\"k\": a value of type 13");
  expect(begin(0, 1).string("k").number(9u).number(9u).number(std::uint64_t{0}).text(), "\"k\": an array of arrays");
  expect(begin(0, 1).string("k").number(9u).number(4u).number(absurd).text(), "\"k\": 1152921504606846976 entries");
  expect(begin(0, 1).string("k").number(8u).number(absurd).text(), "\"k\": 1152921504606846976 bytes");
  expect(begin(0, 2).string("k").number(7u).number('a').string("k").number(7u).number('a').text(), "occurs twice");
  expect(begin(0, 1).string("general.alignment").number(4u).number(0u).text(), "general.alignment: 0");
  expect(begin(1, 0).tensor("t", {}, 0, 0).data(64).text(), "tensor \"t\": 0 axes");
  expect(begin(1, 0).tensor("t", {2, 0}, 0, 0).data(64).text(), "tensor \"t\": an extent of 0");
  expect(begin(1, 0).tensor("t", {absurd, absurd}, 0, 0).data(64).text(), "is out of range");
  expect(begin(1, 0).tensor("t", {8}, 7, 0).data(64).text(), "tensor \"t\": ggml's type 7 cannot be read");
  expect(begin(1, 0).tensor("t", {48, 2}, 8, 0).data(640).text(), "rows of 48 elements are no whole blocks of 32");
  expect(begin(1, 0).tensor("t", {17}, 0, 0).data(64).text(), "tensor \"t\": 68 bytes at 0 of the 64 bytes of data");
  expect(begin(1, 0).tensor("t", {4}, 0, absurd).data(64).text(), "16 bytes at 1152921504606846976");
  expect(begin(1, 0).tensor("t", {4}, 0, 7).data(64).text(),
         "tensor \"t\": begins at 7 of the data, expected a multiple of 32");
  expect(begin(2, 0).tensor("t", {4}, 0, 0).tensor("t", {4}, 0, 0).data(64).text(), "its name occurs twice");
}

TEST(Gguf, RowsThatAreNoWholeHeadsAreRefused) {
  Written file = begin(1, 2);
  file.string("general.architecture").number(8u).string("llama");
  file.string("llama.attention.head_count").number(4u).number(3u);
  file.tensor("blk.0.attn_q.weight", {2, 8}, 0, 0).data(64);
  const TemporaryDirectory directory;
  write_file_atomic(directory / "w.gguf", file.text());
  const WeightsFile weights(directory / "w.gguf");
  EXPECT_NE(get_error([&] { to_floats(*weights.tensors().front()); }).find("rows of 3 heads of an even width"),
            std::string::npos);
}

}  // namespace gguf_test
}  // namespace ptrain
