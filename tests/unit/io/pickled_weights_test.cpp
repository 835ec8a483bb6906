// Weights that PyTorch and Paddle pickled (tests/golden/make_pickle_golden.py), and pickles that would do harm.
#include "core/io/pickled_weights.h"

#include "core/io/atomic_file.h"
#include "core/io/pickle.h"
#include "core/io/safetensors.h"
#include "core/io/weights_file.h"
#include "core/io/zip_archive.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ptrain {
namespace pickled_weights_test {

const std::string golden_folder = PTRAIN_SOURCE_DIR "/tests/golden/";

std::span<const std::byte> get_bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string get_rejection(const std::string& file) {
  return get_error([&] { parse_pickled_weights(get_bytes(file), "w.pth"); });
}

void expect_rejection(const std::string& file, std::string_view part) {
  const std::string message = get_rejection(file);
  EXPECT_EQ(message.find("w.pth: "), 0u) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

const NamedTensor* find(const WeightsFile& file, std::string_view name) {
  for (const NamedTensor* tensor : file.tensors()) {
    if (tensor->name == name) return tensor;
  }
  return nullptr;
}

TEST(PickledWeights, HaveTheBitsThatWereSaved) {
  const SafetensorsFile expected(golden_folder + "weights_pickled.safetensors");
  for (const char* name : {"weights.pth", "weights_2.pdparams", "weights_4.pdparams"}) {
    const WeightsFile file(golden_folder + name);
    const bool is_torch = std::string_view(name) == "weights.pth";
    std::size_t floats = 0;
    for (const NamedTensor* tensor : file.tensors()) {
      if (tensor->shape.count() == 0 || !holds_floats(*tensor)) continue;
      ++floats;
      const NamedTensor& other = expected.at(tensor->name);
      EXPECT_EQ(tensor->shape, other.shape) << name << ": " << tensor->name;
      const std::vector<float> values = to_floats(*tensor), right = to_floats(other);
      ASSERT_EQ(values.size(), right.size());
      EXPECT_EQ(std::memcmp(values.data(), right.data(), values.size() * sizeof(float)), 0) << tensor->name;
    }
    EXPECT_EQ(floats, is_torch ? expected.tensors().size() : 5u) << name;
    ASSERT_NE(find(file, "steps"), nullptr);
    EXPECT_EQ(find(file, "steps")->dtype, DType::i64);
    if (is_torch) {
      EXPECT_EQ(find(file, "empty")->shape, (Shape{0, 4}));
    }
    file.check();
  }
}

TEST(PickledWeights, AFolderOfPyTorchsIsOpenedWithOrWithoutAnIndex) {
  const TemporaryDirectory folder;
  folder.write("pytorch_model.bin.index.json",
               std::string(R"({"weight_map": {"weight": "part-1.bin", "half": "part-1.bin"}})"));
  folder.write("part-1.bin", read_file(golden_folder + "weights.pth"));
  EXPECT_EQ(WeightsFile(folder.path()).tensors().size(), 10u);
  folder.write("pytorch_model.bin", read_file(golden_folder + "weights_4.pdparams"));
  EXPECT_EQ(WeightsFile(folder.path()).tensors().size(), 6u);
  folder.write("lacks.json", std::string(R"({"weight_map": {"other": "part-1.bin"}})"));
  const std::string message = get_error([&] { WeightsFile(folder / "lacks.json"); });
  EXPECT_NE(message.find("part-1.bin: has no tensor \"other\", which "), std::string::npos) << message;
}

TEST(PickledWeights, ATruncatedFileIsRefusedInOneLine) {
  for (const char* name : {"weights.pth", "weights_2.pdparams", "weights_4.pdparams"}) {
    const std::string whole = read_file(golden_folder + name);
    for (std::size_t size = 4; size < whole.size(); size += 37) {
      const std::string message = get_rejection(whole.substr(0, size));
      EXPECT_NE(message.find("truncated"), std::string::npos) << size << ": " << message;
    }
  }
}

/// What a pickle names is never called, nor looked for.
TEST(PickledWeights, PicklesThatWouldDoHarmAreRefusedByName) {
  using std::string_literals::operator""s;
  const TemporaryDirectory folder;
  const std::string command = "touch " + (folder / "made").string();
  const auto text = [](const std::string& value) {
    return "\x8c" + std::string(1, static_cast<char>(value.size())) + value;
  };
  expect_rejection(
      "\x80\x02"s
      "cos\nsystem\n" +
          text(command) + "\x85R.",
      "names \"os.system\", which is not read");
  expect_rejection("\x80\x04"s + text("builtins") + text("eval") + "\x93" + text("1") + "\x85R.", "\"builtins.eval\"");
  expect_rejection(
      "\x80\x02"s
      "cposix\nsystem\n" +
          text(command) + "\x85R.",
      "\"posix.system\"");
  expect_rejection(
      "\x80\x02"s
      "c__builtin__\ngetattr\n.",
      "\"__builtin__.getattr\"");
  expect_rejection(
      "\x80\x02"s
      "(S'x'\nios\nsystem\n.",
      "instruction 0x53");
  EXPECT_FALSE(std::filesystem::exists(folder / "made"));
}

TEST(PickledWeights, BombsAndCirclesTakeNoTimeAndNoMemory) {
  using std::string_literals::operator""s;
  std::string bomb = "\x80\x02]q\x00"s;  // lists of ten times the list before
  for (char level = 0; level < 100; ++level) {
    bomb += "](";
    for (int i = 0; i < 10; ++i) bomb += "h"s + level;
    bomb += "eq"s + static_cast<char>(level + 1);
  }
  expect_rejection(bomb + ".", "expected a dict of tensors");
  expect_rejection("\x80\x02}q\x00X\x05\x00\x00\x00modelh\x00s."s, "expected a dict of tensors");  // in itself
  expect_rejection(
      "\x80\x02]q\x00h\x00"
      "a."s,
      "expected a dict of tensors");
  expect_rejection("\x80\x02"s + std::string(3'000'000, 'N') + ".", "more than 2000000 values");
  expect_rejection("\x80\x02"s + std::string(100'000, '(') + "t.", "expected a dict of tensors");
  // A tensor of a tensor of a tensor, ...
  std::string nested =
      "\x80\x02}X\x01\x00\x00\x00"
      "a"s +
      "ctorch._utils\n_rebuild_parameter\nq\x00)R"s;
  for (int i = 0; i < 50; ++i)
    nested +=
        "q\x01"
        "0h\x00h\x01\x85R"s;
  expect_rejection(nested + "s.", "tensor \"a\": not in the form that PyTorch, numpy or Paddle saves");
}

/// `archive` with a CRC-32 of 0 for each entry: none was computed.
std::string without_checksums(std::string archive) {
  constexpr std::string_view entry_mark("PK\x01\x02", 4);
  for (std::size_t at = archive.find(entry_mark); at != archive.npos; at = archive.find(entry_mark, at + 4)) {
    archive.replace(at + 16, 4, 4, '\0');
  }
  return archive;
}

TEST(PickledWeights, AFlippedBitIsFoundByItsChecksum) {
  const std::string whole = read_file(golden_folder + "weights.pth");
  const auto entry = parse_zip(get_bytes(whole), "w.pth").at("weights/data/3");
  std::string damaged = whole;
  damaged[static_cast<std::size_t>(entry.data() - get_bytes(whole).data()) + 5] ^= 1;
  expect_rejection(damaged, "entry \"weights/data/3\" is damaged: its CRC-32 is ");
  EXPECT_NO_THROW(parse_pickled_weights(get_bytes(without_checksums(whole)), "w.pth"));
}

TEST(PickledWeights, DamagedFilesAreRefusedInOneLine) {
  using std::string_literals::operator""s;
  expect_rejection("\x80\x02.", "a value is missing");
  expect_rejection("\x80\x02h\x05.", "a value that was not kept");
  expect_rejection("\x80\x02\x85.", "a value is missing");
  expect_rejection("\x80\x02}NNe.", "a mark is missing");
  expect_rejection("\x80\x02(NNu.", "a value is missing");
  expect_rejection("\x80\x06N.", "protocol 6");
  expect_rejection("\x80\x02\x8a\x0a" + std::string(10, 'x') + ".", "a file of PyTorch before 1.6");
  expect_rejection("\x80\x02}.", "expected a dict of tensors, or one with such a dict as state_dict, model");
  const std::string whole = read_file(golden_folder + "weights.pth");
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string file = without_checksums(whole);
    for (std::size_t at = file.find(from); at != file.npos; at = file.find(from, at + to.size())) {
      file.replace(at, from.size(), to);
    }
    return file;
  };
  expect_rejection(changed("weights/data/6", "weights/data/x"), "\"weights/data/6\" is missing");
  expect_rejection(changed("data.pkl", "data.pkx"), "without PyTorch's data.pkl");
  expect_rejection(changed("FloatStorage", "FloatStorags"), "names \"torch.FloatStorags\"");
  expect_rejection(changed("little", "bigger"), "big-endian");
}

TEST(ZipArchive, EntriesThatOverlapTheEndOrAreCompressedAreRefused) {
  const std::string whole = read_file(golden_folder + "weights.pth");
  const ZipEntries entries = parse_zip(get_bytes(whole), "w.zip");
  EXPECT_EQ(entries.at("weights/byteorder").size(), 6u);
  const auto with = [&](std::size_t offset, char value) {
    std::string file = whole;
    file[file.find("PK\x01\x02") + offset] = value;
    return get_error([&] { parse_zip(get_bytes(file), "w.zip"); });
  };
  EXPECT_NE(with(10, 8).find("is compressed"), std::string::npos);
  EXPECT_NE(with(44, 1).find("truncated or damaged: an entry"), std::string::npos);  // begins beyond the end
  EXPECT_NE(with(28, 1).find("truncated or damaged"), std::string::npos);
}

}  // namespace pickled_weights_test
}  // namespace ptrain
