// Files that the data tests write: a directory of their own, and encoded images.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// A directory that is gone when the test ends.
class TemporaryDirectory {
 public:
  TemporaryDirectory()
      : path_(std::filesystem::temp_directory_path() /
              ("ptrain_data_" + std::to_string(::getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string write(const std::string& name, std::span<const std::uint8_t> bytes) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return file.string();
  }
  std::string write(const std::string& name, const std::string& text) const {
    return write(name, std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  }

 private:
  std::filesystem::path path_;
};

/// A smooth RGB8 picture.
std::vector<std::uint8_t> make_picture(int width, int height);
enum class JpegKind { rgb, grey, cmyk, progressive };
std::string_view name_of(JpegKind kind);
std::vector<std::uint8_t> encode_jpeg(const std::vector<std::uint8_t>& rgb, int width, int height, JpegKind kind);
/// `color_type` and `depth` as libpng names them; the value of every channel follows from the red of `rgb`.
std::vector<std::uint8_t> encode_png(const std::vector<std::uint8_t>& rgb, int width, int height, int color_type,
                                     int depth);
std::vector<std::uint8_t> gzip(std::span<const std::uint8_t> bytes);
/// An IDX file of bytes.
std::vector<std::uint8_t> make_idx(const std::vector<std::uint32_t>& dims, const std::vector<std::uint8_t>& values);

/// The message of the exception that `call` throws; "" when it throws none.
inline std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace ptrain
