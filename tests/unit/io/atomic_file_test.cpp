#include "core/io/atomic_file.h"

#include "core/io/mapped_file.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace ptrain {
namespace {

/// Lets no file of this process grow beyond `bytes` while it lives: what a full disk looks like, without filling one.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST(AtomicFile, ReplacesTheWholeContent) {
  const TemporaryDirectory directory;
  write_file_atomic(directory / "a.txt", "the first and longer content");
  write_file_atomic(directory / "a.txt", "second");
  EXPECT_EQ(read_file(directory / "a.txt"), "second");
  EXPECT_EQ(directory.entries(), 1);
}

TEST(AtomicFile, WithoutCommitLeavesTheOldFileAndNoTemporary) {
  const TemporaryDirectory directory;
  write_file_atomic(directory / "a.txt", "old");
  {
    AtomicFile file(directory / "a.txt");
    file.write("new");
    EXPECT_EQ(directory.entries(), 2);
  }
  EXPECT_EQ(read_file(directory / "a.txt"), "old");
  EXPECT_EQ(directory.entries(), 1);
}

TEST(AtomicFile, RemovesWhatKilledWritersOfTheSameFileLeft) {
  const TemporaryDirectory directory;
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(directory / "a.txt"), other(directory / "b.txt");
    file.write("half");
    ::_exit(0);  // as a kill: no destructor runs
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(directory.entries(), 2);
  AtomicFile live(directory / "a.txt");
  EXPECT_EQ(directory.entries(), 2) << "what was left of b.txt, and the new one";
  write_file_atomic(directory / "a.txt", "whole");
  EXPECT_EQ(directory.entries(), 3) << "a writer that lives keeps its file";
  live.commit();
  EXPECT_EQ(read_file(directory / "a.txt"), "");
}

TEST(AtomicFile, FailedWriteLeavesTheOldFileAndNoTemporary) {
  const TemporaryDirectory directory;
  write_file_atomic(directory / "a.txt", "old");
  std::string message;
  {
    const FileSizeLimit limit(4096);
    message = get_error([&] { write_file_atomic(directory / "a.txt", std::string(10000, 'x')); });
  }
  EXPECT_NE(message.find("a.txt"), std::string::npos) << message;
  EXPECT_EQ(read_file(directory / "a.txt"), "old");
  EXPECT_EQ(directory.entries(), 1);
}

TEST(AtomicFile, FullDiskIsSaidPlainly) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "this system has no /dev/full";
  const std::string message = get_error([] { write_file_atomic("/dev/full", "content"); });
  EXPECT_EQ(message, "cannot write /dev/full: the disk is full (No space left on device)");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(AtomicFile, MissingDirectoryIsNamed) {
  const TemporaryDirectory directory;
  const std::string message = get_error([&] { write_file_atomic(directory / "none/a.txt", "x"); });
  EXPECT_NE(message.find("none does not exist"), std::string::npos) << message;
}

TEST(AtomicFile, DirectoryAsTargetIsRefused) {
  const TemporaryDirectory directory;
  EXPECT_NE(get_error([&] { write_file_atomic(directory.path(), "x"); }).find("it is a directory"), std::string::npos);
}

TEST(AtomicFile, ReadOnlyDirectoryIsNamed) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const TemporaryDirectory directory;
  std::filesystem::permissions(directory.path(),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const std::string message = get_error([&] { write_file_atomic(directory / "a.txt", "x"); });
  std::filesystem::permissions(directory.path(), std::filesystem::perms::owner_all);
  EXPECT_NE(message.find("no permission to write in " + directory.path().string()), std::string::npos) << message;
}

TEST(AtomicFile, SymbolicLinkStaysALink) {
  const TemporaryDirectory directory;
  write_file_atomic(directory / "real", "old");
  std::filesystem::create_symlink("real", directory / "link");
  write_file_atomic(directory / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
  EXPECT_EQ(read_file(directory / "real"), "new");
}

TEST(ReadFile, ReadsBinaryContentAndEmptyFiles) {
  const TemporaryDirectory directory;
  std::string content(100'000, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7);
  write_file_atomic(directory / "a", content);
  write_file_atomic(directory / "empty", "");
  EXPECT_EQ(read_file(directory / "a"), content);
  EXPECT_EQ(read_file(directory / "empty"), "");
}

TEST(ReadFile, ReadsWhatHasNoSize) { EXPECT_FALSE(read_file("/proc/self/status").empty()); }

TEST(ReadFile, MissingFileAndDirectoryAreNamed) {
  const TemporaryDirectory directory;
  EXPECT_NE(get_error([&] { read_file(directory / "none"); }).find("none: No such file"), std::string::npos);
  EXPECT_NE(get_error([&] { read_file(directory.path()); }).find("it is a directory"), std::string::npos);
}

TEST(ReadFile, GitLfsPointersAreNamedWhateverTheyStandFor) {
  const TemporaryDirectory directory;
  write_file_atomic(directory / "vocab.txt",
                    "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 440449768\n");
  EXPECT_NE(get_error([&] { read_file(directory / "vocab.txt"); }).find("vocab.txt: it is a Git LFS pointer"),
            std::string::npos);
  EXPECT_THROW(MappedFile(directory / "vocab.txt"), UnreadableFile);
  write_file_atomic(directory / "vocab.txt", "version ");
  EXPECT_EQ(read_file(directory / "vocab.txt"), "version ");
}

TEST(ReadFile, WebPagesAreNamedUnlessTheyMayBeMeant) {
  const TemporaryDirectory directory;
  const std::string file = directory / "train.csv";
  for (const char* page : {"<!DOCTYPE html>\n<title>Not found</title>", "\xef\xbb\xbf\r\n <HTML lang=\"en\">",
                           "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>"}) {
    write_file_atomic(file, page);
    EXPECT_NE(get_error([&] { read_file(file); }).find("train.csv: it is a web page, as servers answer in place of"),
              std::string::npos)
        << page;
    EXPECT_THROW(MappedFile{file}, UnreadableFile);
    EXPECT_THROW(open_stream(file), UnreadableFile);
    EXPECT_EQ(read_file(file, WebPages::read), page);
  }
  for (const char* other : {"<annotation/>", "<?xml version=\"1.0\"?><annotation/>", "<htm", ""}) {
    write_file_atomic(file, other);
    EXPECT_EQ(read_file(file), other);
  }
}

TEST(Crc32, MatchesTheStandardCheckValueInOneAndInTwoParts) {
  const std::string text = "123456789";
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  EXPECT_EQ(crc32(bytes), 0xCBF43926u);
  EXPECT_EQ(crc32(bytes.subspan(4), crc32(bytes.first(4))), 0xCBF43926u);
}

}  // namespace
}  // namespace ptrain
