#include "core/io/packed_file.h"

#include "core/base/errors.h"
#include "core/io/mapped_file.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace ptrain {
namespace {

enum class Form { gzip, zstd };

class PackedFiles : public testing::TestWithParam<Form> {
 protected:
  /// The texts one behind the other, each compressed on its own.
  std::filesystem::path pack(const std::vector<std::string>& texts) {
    const std::filesystem::path path = directory_ / "text.packed";
    std::filesystem::remove(path);
    std::string joined;
    for (const std::string& text : texts) {
      if (GetParam() == Form::zstd) {
        joined += pack_by_zstd(text);
        continue;
      }
      const gzFile file = gzopen(path.c_str(), "ab");
      EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
      EXPECT_EQ(gzclose(file), Z_OK);
    }
    if (GetParam() == Form::zstd) write_file_atomic(path, joined);
    return path;
  }

  /// With a checksum, as the program zstd does.
  static std::string pack_by_zstd(const std::string& text) {
    const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
    std::string packed(ZSTD_compressBound(text.size()), '\0');
    packed.resize(ZSTD_compress2(context.get(), packed.data(), packed.size(), text.data(), text.size()));
    return packed;
  }

  static std::string text_of(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
  }

  static std::string long_text() {
    std::string text;
    for (int i = 0; text.size() < (3u << 20); ++i) text += std::to_string(i) + "\n";
    return text;
  }

  TemporaryDirectory directory_;
};

TEST_P(PackedFiles, AreReadUnpackedWhereTheReaderAsksForIt) {
  const std::string text = long_text();
  const std::filesystem::path packed = pack({text});
  EXPECT_EQ(read_unpacked_file(packed), text);
  const MappedFile mapped(packed, PackedFile::unpacked);
  EXPECT_EQ(text_of(mapped), text);
  mapped.check();
  EXPECT_EQ(MappedFile(packed).bytes().size(), std::filesystem::file_size(packed));
}

TEST_P(PackedFiles, MayHaveSeveralMembersOrNothingInThem) {
  EXPECT_EQ(read_unpacked_file(pack({"one\n", "two\n"})), "one\ntwo\n");
  EXPECT_TRUE(MappedFile(pack({""}), PackedFile::unpacked).bytes().empty());
}

TEST_P(PackedFiles, OthersAreReadAsTheyAre) {
  for (const std::string& content :
       {std::string("plain"), std::string("\x1f\x8b", 2), std::string("\x28\xb5\x2f", 3), std::string()}) {
    write_file_atomic(directory_ / "plain", content);
    EXPECT_EQ(read_unpacked_file(directory_ / "plain"), content);
    EXPECT_EQ(text_of(MappedFile(directory_ / "plain", PackedFile::unpacked)), content);
  }
}

TEST_P(PackedFiles, ThatAreCutOffOrDamagedAreNamed) {
  const std::string whole = read_file(pack({long_text()}));
  write_file_atomic(directory_ / "cut", whole.substr(0, whole.size() / 2));
  for (const auto& read : {+[](const std::filesystem::path& path) { read_unpacked_file(path); },
                           +[](const std::filesystem::path& path) { MappedFile(path, PackedFile::unpacked); }}) {
    EXPECT_NE(get_error([&] { read(directory_ / "cut"); }).find("cut: its compressed data are cut off"),
              std::string::npos);
    std::string damaged = whole;
    for (std::size_t i = damaged.size() / 2; i < damaged.size() / 2 + 64; ++i)
      damaged[i] = static_cast<char>(~damaged[i]);
    write_file_atomic(directory_ / "damaged", damaged);
    EXPECT_NE(get_error([&] { read(directory_ / "damaged"); }).find("damaged: its compressed data are damaged"),
              std::string::npos);
  }
}

TEST_P(PackedFiles, AreReadToTheirEndWhateverFollows) {
  const std::string whole = read_file(pack({"one\n"}));
  if (GetParam() == Form::gzip) {  // files on tapes are padded
    write_file_atomic(directory_ / "padded", whole + std::string(512, '\0'));
    EXPECT_EQ(read_unpacked_file(directory_ / "padded"), "one\n");
  }
  write_file_atomic(directory_ / "joined", whole + "two\n");
  const std::string expected = "joined: has 4 bytes of something else after its compressed data";
  EXPECT_NE(get_error([&] { read_unpacked_file(directory_ / "joined"); }).find(expected), std::string::npos);
  EXPECT_NE(get_error([&] { MappedFile(directory_ / "joined", PackedFile::unpacked); }).find(expected),
            std::string::npos);
}

TEST_P(PackedFiles, AreFoundBesideAndNamedInLowerAndUpperCase) {
  const std::string ending = GetParam() == Form::gzip ? "gz" : "zst", upper = GetParam() == Form::gzip ? "GZ" : "ZST";
  EXPECT_EQ(remove_packed_ending("data/train.csv." + ending), "data/train.csv");
  EXPECT_EQ(remove_packed_ending("data/TRAIN.CSV." + upper), "data/TRAIN.CSV");
  EXPECT_EQ(remove_packed_ending("data/train.csv"), "data/train.csv");
  const std::filesystem::path plain = directory_ / "lines.de", packed = directory_ / ("lines.de." + ending);
  EXPECT_EQ(find_packed(plain), plain);
  write_file_atomic(packed, "1");
  EXPECT_EQ(find_packed(plain), packed);
  write_file_atomic(plain, "1");
  EXPECT_EQ(find_packed(plain), plain);
}

TEST_P(PackedFiles, AreAnErrorThatNamesTheFolderWithoutRoom) {
  const std::filesystem::path packed = pack({"text"});
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", (directory_ / "missing").c_str(), 1);
  const std::string message = get_error([&] { MappedFile(packed, PackedFile::unpacked); });
  if (before == nullptr) {
    ::unsetenv("TMPDIR");
  } else {
    ::setenv("TMPDIR", kept.c_str(), 1);
  }
  EXPECT_NE(message.find("TMPDIR"), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(All, PackedFiles, testing::Values(Form::gzip, Form::zstd),
                         [](const auto& form) { return form.param == Form::gzip ? "gzip" : "zstd"; });

}  // namespace
}  // namespace ptrain
