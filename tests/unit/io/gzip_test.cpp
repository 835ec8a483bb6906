#include "core/io/gzip.h"

#include "core/base/errors.h"
#include "core/io/mapped_file.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <string>

namespace ptrain {
namespace {

class GzipFiles : public testing::Test {
 protected:
  /// Writes each text as a member of its own.
  std::filesystem::path pack(const std::vector<std::string>& members) {
    const std::filesystem::path path = directory_ / "text.gz";
    std::filesystem::remove(path);
    for (const std::string& member : members) {
      const gzFile file = gzopen(path.c_str(), "ab");
      EXPECT_EQ(gzwrite(file, member.data(), static_cast<unsigned>(member.size())), static_cast<int>(member.size()));
      EXPECT_EQ(gzclose(file), Z_OK);
    }
    return path;
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

TEST_F(GzipFiles, AreReadUnpackedWhereTheReaderAsksForIt) {
  const std::string text = long_text();
  const std::filesystem::path packed = pack({text});
  EXPECT_EQ(read_unpacked_file(packed), text);
  const MappedFile mapped(packed, Gzip::unpacked);
  EXPECT_EQ(text_of(mapped), text);
  mapped.check();
  EXPECT_EQ(MappedFile(packed).bytes().size(), std::filesystem::file_size(packed));
}

TEST_F(GzipFiles, MayHaveSeveralMembersOrNothingInThem) {
  EXPECT_EQ(read_unpacked_file(pack({"one\n", "two\n"})), "one\ntwo\n");
  EXPECT_TRUE(MappedFile(pack({""}), Gzip::unpacked).bytes().empty());
}

TEST_F(GzipFiles, OthersAreReadAsTheyAre) {
  for (const std::string& content : {std::string("plain"), std::string("\x1f\x8b", 2), std::string()}) {
    write_file_atomic(directory_ / "plain", content);
    EXPECT_EQ(read_unpacked_file(directory_ / "plain"), content);
    EXPECT_EQ(text_of(MappedFile(directory_ / "plain", Gzip::unpacked)), content);
  }
}

TEST_F(GzipFiles, ThatAreCutOffOrDamagedAreNamed) {
  const std::string whole = read_file(pack({long_text()}));
  write_file_atomic(directory_ / "cut.gz", whole.substr(0, whole.size() / 2));
  for (const auto& read : {+[](const std::filesystem::path& path) { read_unpacked_file(path); },
                           +[](const std::filesystem::path& path) { MappedFile(path, Gzip::unpacked); }}) {
    EXPECT_NE(get_error([&] { read(directory_ / "cut.gz"); }).find("cut.gz: its compressed data are cut off"),
              std::string::npos);
    std::string damaged = whole;
    for (std::size_t i = damaged.size() / 2; i < damaged.size() / 2 + 64; ++i)
      damaged[i] = static_cast<char>(~damaged[i]);
    write_file_atomic(directory_ / "damaged.gz", damaged);
    EXPECT_NE(get_error([&] { read(directory_ / "damaged.gz"); }).find("damaged.gz: its compressed data are damaged"),
              std::string::npos);
  }
}

TEST_F(GzipFiles, AreReadToTheirEndWhateverFollows) {
  const std::string whole = read_file(pack({"one\n"}));
  write_file_atomic(directory_ / "padded.gz", whole + std::string(512, '\0'));
  EXPECT_EQ(read_unpacked_file(directory_ / "padded.gz"), "one\n");
  write_file_atomic(directory_ / "joined.gz", whole + "two\n");
  const std::string expected = "joined.gz: has 4 bytes of something else after its compressed data";
  EXPECT_NE(get_error([&] { read_unpacked_file(directory_ / "joined.gz"); }).find(expected), std::string::npos);
  EXPECT_NE(get_error([&] { MappedFile(directory_ / "joined.gz", Gzip::unpacked); }).find(expected), std::string::npos);
}

TEST_F(GzipFiles, AreNamedInLowerAndUpperCase) {
  EXPECT_EQ(remove_gzip_ending("data/train.csv.gz"), "data/train.csv");
  EXPECT_EQ(remove_gzip_ending("data/TRAIN.CSV.GZ"), "data/TRAIN.CSV");
  EXPECT_EQ(remove_gzip_ending("data/train.csv"), "data/train.csv");
}

TEST_F(GzipFiles, AreAnErrorThatNamesTheFolderWithoutRoom) {
  const std::filesystem::path packed = pack({"text"});
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", (directory_ / "missing").c_str(), 1);
  const std::string message = get_error([&] { MappedFile(packed, Gzip::unpacked); });
  if (before == nullptr) {
    ::unsetenv("TMPDIR");
  } else {
    ::setenv("TMPDIR", kept.c_str(), 1);
  }
  EXPECT_NE(message.find("TMPDIR"), std::string::npos) << message;
}

}  // namespace
}  // namespace ptrain
