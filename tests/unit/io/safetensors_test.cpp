#include "core/io/safetensors.h"

#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

namespace ptrain {
namespace {

std::span<const std::byte> get_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// A file of this header and `data_size` zero bytes.
std::string file_with(const std::string& header, std::size_t data_size) {
  const std::uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file + header + std::string(data_size, '\0');
}

std::string tensor(std::string_view name, std::string_view dtype, std::string_view shape, int begin, int end) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", name, dtype, shape, begin, end);
}

/// A file of these tensors (comma-separated entries) and `data_size` zero bytes.
std::string get_file(std::string_view entries, std::size_t data_size) {
  return file_with(fmt::format("{{{}}}", entries), data_size);
}

std::string get_rejection(const std::string& file) {
  return get_error([&] { parse_safetensors(get_bytes(file), "w.safetensors"); });
}

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Safetensors, RoundTripKeepsNamesTypesShapesBytesAndMetadata) {
  const TemporaryDirectory directory;
  const std::array<float, 3> f32 = {1.5f, -2.0f, 3.25f};
  const std::array<bf16, 2> low = {bf16(0.5f), bf16(-8.0f)};
  const std::array<f16, 1> half = {f16(2.5f)};
  const std::array<std::int64_t, 1> steps = {7};
  const std::vector<NamedTensor> tensors = {{"low", DType::bf16, {2, 1}, std::as_bytes(std::span(low))},
                                            {"half", DType::f16, {1}, std::as_bytes(std::span(half))},
                                            {"a.weight", DType::f32, {3}, std::as_bytes(std::span(f32))},
                                            {"steps", DType::i64, {}, std::as_bytes(std::span(steps))},
                                            {"empty", DType::f32, {0, 4}, {}}};
  write_safetensors(directory / "w.safetensors", tensors, {{"format", "pt"}, {"by", "test"}});

  const SafetensorsFile file(directory / "w.safetensors");
  EXPECT_EQ(file.tensors().size(), 5u);
  EXPECT_EQ(file.metadata(), (SafetensorsMetadata{{"by", "test"}, {"format", "pt"}}));
  EXPECT_EQ(to_floats(file.at("a.weight")), (std::vector<float>{1.5f, -2.0f, 3.25f}));
  EXPECT_EQ(to_floats(file.at("low")), (std::vector<float>{0.5f, -8.0f}));
  EXPECT_EQ(to_floats(file.at("half")), (std::vector<float>{2.5f}));
  EXPECT_EQ(file.at("low").shape, (Shape{2, 1}));
  EXPECT_EQ(file.at("empty").shape, (Shape{0, 4}));
  EXPECT_EQ(file.at("steps").dtype, DType::i64);
  for (const NamedTensor& stored : file.tensors())
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(stored.bytes.data()) % element_size(stored.dtype), 0u) << stored.name;
  EXPECT_EQ(file.find("none"), nullptr);
  EXPECT_CONTAINS(get_error([&] { file.at("none"); }), "w.safetensors: has no tensor \"none\"");
  EXPECT_CONTAINS(get_error([&] { to_floats(file.at("steps")); }), "tensor \"steps\" is i64");
}

TEST(Safetensors, ReadsTensorsThatAreNotAligned) {
  std::string file = get_file(tensor("b", "U8", "[1]", 0, 1) + "," + tensor("f", "F32", "[1]", 1, 5), 5);
  const float value = 42.0f;
  std::memcpy(file.data() + file.size() - 4, &value, 4);
  const SafetensorsIndex index = parse_safetensors(get_bytes(file), "w");
  EXPECT_EQ(to_floats(index.tensors[1]), std::vector<float>{42.0f});
}

TEST(Safetensors, RefusesAFileCutAnywhere) {
  const std::string whole = get_file(tensor("a", "F32", "[2]", 0, 8), 8);
  EXPECT_EQ(parse_safetensors(get_bytes(whole), "w").tensors.size(), 1u);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_CONTAINS(get_rejection(whole.substr(0, size)), "w.safetensors: ") << " cut to " << size;
}

TEST(Safetensors, RefusesAbsurdHeaderLengths) {
  std::string file = file_with("{}", 0);
  const std::uint64_t absurd = ~std::uint64_t{0};
  std::memcpy(file.data(), &absurd, sizeof absurd);
  EXPECT_CONTAINS(get_rejection(file), "header length 18446744073709551615");
  const std::uint64_t too_long = 127;
  std::memcpy(file.data(), &too_long, sizeof too_long);
  EXPECT_CONTAINS(get_rejection(file), "truncated: header of 127 bytes");
}

TEST(Safetensors, RefusesHeadersThatAreNoJsonObject) {
  EXPECT_CONTAINS(get_rejection(file_with("[1]", 0)), "not a JSON object");
  EXPECT_CONTAINS(get_rejection(file_with("{\"a\":", 0)), "not valid JSON");
  EXPECT_CONTAINS(get_rejection(file_with("{\"a\xff\":1}", 0)), "not valid JSON");
  EXPECT_CONTAINS(get_rejection(file_with("{\"a\":1}", 0)), "tensor \"a\": expected an object");
  EXPECT_CONTAINS(get_rejection(file_with("{\"__metadata__\":{\"k\":1}}", 0)),
                  "__metadata__: \"k\": expected a string");
}

TEST(Safetensors, TakesMetadataThatIsNull) {
  const std::string file = file_with("{\"__metadata__\":null," + tensor("a", "F32", "[2]", 0, 8) + "}", 8);
  EXPECT_EQ(parse_safetensors(get_bytes(file), "w").tensors.size(), 1u);
}

TEST(Safetensors, KeepsTensorsOfTypesThatAreNotRead) {
  const std::string entries = tensor("mean", "F64", "[2]", 0, 16) + "," + tensor("mask", "BOOL", "[3]", 16, 19) + "," +
                              tensor("w", "F32", "[1]", 19, 23);
  const std::string file = get_file(entries, 23);
  const SafetensorsIndex index = parse_safetensors(get_bytes(file), "w");
  ASSERT_EQ(index.tensors.size(), 3u);
  EXPECT_EQ(index.tensors[0].other_type, "F64");
  EXPECT_EQ(index.tensors[1].other_type, "BOOL");
  EXPECT_TRUE(index.tensors[2].other_type.empty());
  EXPECT_CONTAINS(get_rejection(get_file(tensor("mean", "F64", "[2]", 0, 8), 8)), "8 bytes for F64 [2], expected 16");
}

TEST(Safetensors, NamesWhatWasDownloadedInPlaceOfWeights) {
  EXPECT_CONTAINS(get_rejection("<!DOCTYPE html><html><body>403 Forbidden</body></html>"), "HTML or XML");
}

TEST(Safetensors, RefusesTensorsThatDoNotFitTheirBytes) {
  const auto with = [](const std::string& entry, std::size_t size) { return get_rejection(get_file(entry, size)); };
  EXPECT_CONTAINS(with(tensor("a", "F32", "[3]", 0, 8), 8), "tensor \"a\": 8 bytes for F32 [3], expected 12");
  EXPECT_CONTAINS(with(tensor("a", "F32", "[2]", 0, 8), 4), "do not lie within the 4 bytes");
  EXPECT_CONTAINS(with(tensor("a", "F32", "[2]", 8, 0), 8), "do not lie within");
  EXPECT_CONTAINS(with(tensor("a", "Q4", "[2]", 0, 8), 8), "dtype \"Q4\": expected F32");
  EXPECT_CONTAINS(with(tensor("a", "F32", "[-2]", 0, 8), 8), "whole numbers");
  EXPECT_CONTAINS(with(tensor("a", "F32", "[1.5]", 0, 8), 8), "whole numbers");
  EXPECT_CONTAINS(with(tensor("a", "F32", "8", 0, 8), 8), "shape: expected a list");
  EXPECT_CONTAINS(with(tensor("a", "F32", "[4294967296,4294967296,4]", 0, 0), 0), "too large");
  EXPECT_CONTAINS(with(tensor("a", "F32", "[0,18446744073709551615]", 0, 0), 0), "too large");
}

TEST(Safetensors, RefusesOverlapsHolesAndDuplicates) {
  const std::string first = tensor("a", "F32", "[2]", 0, 8);
  EXPECT_CONTAINS(get_rejection(get_file(first + "," + tensor("b", "F32", "[2]", 4, 12), 12)),
                  "tensor \"b\": overlaps");
  EXPECT_CONTAINS(get_rejection(get_file(first + "," + tensor("b", "F32", "[1]", 12, 16), 16)),
                  "tensor \"b\": unused bytes before it");
  EXPECT_CONTAINS(get_rejection(get_file(first, 12)), "4 bytes after the last tensor");
  EXPECT_CONTAINS(get_rejection(get_file(first + "," + first, 8)), "tensor \"a\": its name occurs twice");
}

TEST(Safetensors, MessageStaysOneLineWhateverTheName) {
  EXPECT_CONTAINS(get_rejection(get_file(tensor("a\\nb", "F32", "[3]", 0, 8), 8)), "tensor \"a\\nb\"");
}

TEST(Safetensors, RefusesPyTorchFilesAndNamesTheConversion) {
  const std::string zip = std::string("PK\x03\x04", 4) + std::string(60, '\0');
  const std::string pickle = std::string("\x80\x02\x8a\x0a", 4) + std::string(60, 'l');
  for (const std::string& file : {zip, pickle})
    EXPECT_CONTAINS(get_rejection(file), "from safetensors.torch import save_file");
}

TEST(Safetensors, HeaderLengthThatLooksLikeAPickleIsAccepted) {
  std::string header = fmt::format("{{{}}}", tensor("a", "F32", "[2]", 0, 8));
  header.resize(0x0280, ' ');
  EXPECT_EQ(parse_safetensors(get_bytes(file_with(header, 8)), "w").tensors.size(), 1u);
}

}  // namespace
}  // namespace ptrain
