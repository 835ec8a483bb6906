// Every source: what it reads, and how it refuses what is wrong.
#include "core/data/factory.h"
#include "core/data/image/idx.h"
#include "core/data/image/image_pack.h"
#include "core/data/image/pack_folder.h"
#include "core/data/tensor_names.h"
#include "core/io/mapped_file.h"
#include "tests/temporary_directory.h"
#include "tests/unit/data/test_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

namespace ptrain {
namespace {

std::vector<std::uint8_t> ramp(std::size_t count) {
  std::vector<std::uint8_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint8_t>(i * 7);
  return values;
}

void write_idx_pair(const TemporaryDirectory& directory, const std::string& prefix, std::uint8_t last_label) {
  const auto images = make_idx({2, 28, 28}, ramp(2 * 28 * 28));
  directory.write(prefix + "-images-idx3-ubyte.gz", gzip(images));
  directory.write(prefix + "-labels-idx1-ubyte", make_idx({2}, {0, last_label}));
}

TEST(IdxReader, ReadsGzipAndPlainFilesAndReplicatesGrey) {
  const TemporaryDirectory directory;
  write_idx_pair(directory, "train", 3);
  write_idx_pair(directory, "t10k", 1);
  DataSettings settings{.source = "idx", .path = directory.path().string()};
  const auto train = open_dataset(settings, Split::train);
  EXPECT_EQ(train->size(), 2);
  EXPECT_EQ(train->info().classes, 4);
  const LoadedImage image = load_image(*train, 1);
  EXPECT_EQ(image.label, 3);
  EXPECT_EQ(image.pixels[3 * 100], static_cast<std::uint8_t>((28 * 28 + 100) * 7));
  EXPECT_EQ(image.pixels[3 * 100 + 2], image.pixels[3 * 100]);
  EXPECT_EQ(open_dataset(settings, Split::eval)->info().classes, 4);  // the training split decides
  settings.image_size = 56;
  EXPECT_EQ(load_image(*open_dataset(settings, Split::eval), 0).pixels.size(), 56u * 56u * 3u);
}

TEST(IdxReader, RefusesTruncatedFile) {
  const auto bytes = make_idx({4, 3}, ramp(12));
  for (const auto& whole : {bytes, gzip(bytes)}) {
    EXPECT_EQ(parse_idx(whole, "x", 2).values, ramp(12));
    for (std::size_t keep = 0; keep < whole.size(); ++keep) {
      EXPECT_THROW(parse_idx(std::span(whole).first(keep), "x", 2), Error) << keep;
    }
  }
}

TEST(IdxReader, RefusesDamageTrailingBytesAndAbsurdHeaders) {
  auto damaged = gzip(make_idx({4, 3}, ramp(12)));
  damaged[damaged.size() - 6] ^= 1;  // the checksum
  EXPECT_NE(get_error_message([&] { parse_idx(damaged, "d.gz", 2); }).find("d.gz: its compressed data are damaged"),
            std::string::npos);
  EXPECT_NE(get_error_message([] {
              parse_idx(make_idx({4, 3}, ramp(13)), "long", 2);
            }).find("more data"),
            std::string::npos);
  EXPECT_THROW(parse_idx(make_idx({0xffffffffu, 0xffffffffu, 0xffffffffu}, ramp(9)), "x", 3), Error);
  EXPECT_THROW(parse_idx(gzip(make_idx({60000, 28, 28}, ramp(9))), "x", 3), Error);
  EXPECT_NE(get_error_message([] { parse_idx(make_idx({4}, ramp(4)), "labels", 3); }).find("magic"), std::string::npos);
}

TEST(IdxReader, TakesNamesWithADot) {
  const TemporaryDirectory directory;
  for (const std::string prefix : {"train", "t10k"}) {
    directory.write(prefix + "-images.idx3-ubyte", make_idx({2, 28, 28}, ramp(2 * 28 * 28)));
    directory.write(prefix + "-labels.idx1-ubyte.gz", gzip(make_idx({2}, {0, 1})));
  }
  EXPECT_EQ(open_dataset({.source = "idx", .path = directory.path().string()}, Split::train)->size(), 2);
}

TEST(IdxReader, RefusesLabelOutOfRangeAndCountsThatDiffer) {
  const TemporaryDirectory directory;
  write_idx_pair(directory, "train", 12);
  DataSettings settings{.source = "idx", .path = directory.path().string(), .classes = 10};
  const std::string message = get_error_message([&] { open_dataset(settings, Split::train); });
  EXPECT_NE(message.find("label 12 of sample 1 is out of range for 10 classes"), std::string::npos) << message;
  directory.write("train-labels-idx1-ubyte", make_idx({3}, {0, 1, 2}));
  EXPECT_NE(get_error_message([&] { open_dataset(settings, Split::train); }).find("3 labels for the 2 images"),
            std::string::npos);
  EXPECT_NE(get_error_message([&] { open_dataset(settings, Split::eval); }).find("t10k-images-idx3-ubyte: not found"),
            std::string::npos);
}

TEST(IdxReader, ReadsFashionMnist) {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist")) {
    GTEST_SKIP() << "package dataset-fashion-mnist is not installed";
  }
  const auto test = open_dataset({.source = "idx"}, Split::eval);
  EXPECT_EQ(test->size(), 10000);
  EXPECT_EQ(test->info().class_names.back(), "Ankle boot");
  EXPECT_EQ(load_image(*test, 0).label, 9);
}

TEST(ImageFolder, NumbersClassesByNameAndReadsBothFormats) {
  const TemporaryDirectory directory;
  const auto picture = make_picture(40, 30);
  for (const std::string split : {"train", "val"}) {
    directory.write(split + "/dog/b.JPEG", encode_jpeg(picture, 40, 30, JpegKind::rgb));
    directory.write(split + "/cat/a.png", encode_png(picture, 40, 30, 2, 8));
    directory.write(split + "/cat/notes.txt", std::string("not an image"));
  }
  const DataSettings settings{.source = "image_folder", .path = directory.path().string(), .image_size = 32};
  for (const Split split : {Split::train, Split::eval}) {
    const auto data = open_dataset(settings, split);
    EXPECT_EQ(data->size(), 2);
    EXPECT_EQ(data->info().class_names, (std::vector<std::string>{"cat", "dog"}));
    EXPECT_EQ(load_image(*data, 0).label, 0);
    EXPECT_EQ(load_image(*data, 1).label, 1);
  }
}

TEST(ImageFolder, SaysWhatItExpected) {
  const TemporaryDirectory directory;
  DataSettings settings{.source = "image_folder", .path = directory.path().string()};
  const auto error = [&] { return get_error_message([&] { open_dataset(settings, Split::train); }); };
  directory.write("a.jpg", std::string("flat"));
  EXPECT_NE(error().find("has no directory train; expected"), std::string::npos);
  directory.write("train/a.jpg", std::string("no classes"));
  EXPECT_NE(error().find("has no class directories"), std::string::npos);
  std::filesystem::create_directories(directory.path() / "train/cat");
  EXPECT_NE(error().find("train/cat: the class has no samples; expected *.jpg"), std::string::npos) << error();
  directory.write("train/cat/a.gif", std::string("another format"));
  EXPECT_NE(error().find("train/cat: the class has no samples, but 1 .gif"), std::string::npos) << error();
  settings.path = (directory.path() / "missing").string();
  EXPECT_EQ(error(), settings.path + ": no such directory");
}

TEST(ImageFolder, RefusesLinksToAFolderThatContainsThem) {
  const auto image = encode_png(make_picture(8, 8), 8, 8, 2, 8);
  const std::vector<std::pair<std::string, std::string>> links{
      {"train/cat/indoor/loop", "train/cat"}, {"train/cat/up", "train"}, {"train/all", "train"}, {"train/cat/top", ""}};
  for (const auto& [link, target] : links) {
    const TemporaryDirectory directory;
    for (const char* file : {"train/cat/indoor/a.png", "train/dog/b.png"}) directory.write(file, image);
    std::filesystem::create_directory_symlink(directory.path() / target, directory.path() / link);
    const DataSettings settings{.source = "image_folder", .path = directory.path().string()};
    const std::string message = get_error_message([&] { open_dataset(settings, Split::train); });
    EXPECT_NE(message.find(link + ": links to "), std::string::npos) << link << ": " << message;
    EXPECT_NE(message.find(", a folder that contains it"), std::string::npos) << message;
  }
}

TEST(ImageFolder, ReadsFoldersBelowAClassAndFollowsLinks) {
  const TemporaryDirectory directory;
  const auto image = encode_png(make_picture(8, 8), 8, 8, 2, 8);
  directory.write("train/cat/a.png", image);
  directory.write("train/cat/indoor/2024/b.JFIF", encode_jpeg(make_picture(8, 8), 8, 8, JpegKind::rgb));
  directory.write("elsewhere/c.png", image);
  std::filesystem::create_directory_symlink(directory.path() / "elsewhere", directory.path() / "train/dog");
  directory.write("train/cat/notes.txt", std::string("x"));
  directory.write("train/cat/.hidden.png", std::string("x"));
  directory.write("train/__MACOSX/._a.png", std::string("x"));
  directory.write("train/loose.png", image);
  const auto data = open_dataset({.source = "image_folder", .path = directory.path().string()}, Split::train);
  ASSERT_EQ(data->size(), 3);
  EXPECT_EQ(data->info().class_names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_TRUE(data->origin(1).file.ends_with("train/cat/indoor/2024/b.JFIF")) << data->origin(1).file;
  EXPECT_TRUE(data->origin(2).file.ends_with("train/dog/c.png")) << data->origin(2).file;
  ASSERT_EQ(data->notes().size(), 3u);
  EXPECT_TRUE(data->notes()[0].ends_with("train/__MACOSX: left out")) << data->notes()[0];
  EXPECT_TRUE(data->notes()[1].ends_with("train: 1 image in no class left out")) << data->notes()[1];
  EXPECT_NE(data->notes()[2].find("train: passed over 1 .txt; "), std::string::npos) << data->notes()[2];
}

TEST(ImageFolder, OrdersClassesThatAreNumbersAsNumbers) {
  const TemporaryDirectory directory;
  const auto image = encode_png(make_picture(8, 8), 8, 8, 2, 8);
  for (int i = 0; i < 12; ++i) directory.write(fmt::format("train/{}/a.png", i), image);
  const DataSettings settings{.source = "image_folder", .path = directory.path().string()};
  const auto data = open_dataset(settings, Split::train);
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(data->info().class_names[static_cast<std::size_t>(i)], std::to_string(i));
    EXPECT_EQ(data->label(i), i);
    EXPECT_NE(data->origin(i).file.find(fmt::format("train/{}/a.png", i)), std::string::npos);
  }
  ASSERT_EQ(data->notes().size(), 1u);
  EXPECT_NE(data->notes()[0].find("whole numbers"), std::string::npos) << data->notes()[0];
  directory.write("train/cat/a.png", image);
  EXPECT_EQ(open_dataset(settings, Split::train)->info().class_names[2], "10") << "not all are numbers";
}

TEST(ImageFolder, TakesTwoUnicodeFormsForOneClass) {
  const TemporaryDirectory directory;
  const auto image = encode_png(make_picture(8, 8), 8, 8, 2, 8);
  directory.write("train/caf\xc3\xa9/a.png", image);
  directory.write("val/cafe\xcc\x81/b.png", image);
  const DataSettings settings{.source = "image_folder", .path = directory.path().string(), .image_size = 8};
  const auto eval = open_dataset(settings, Split::eval);
  EXPECT_EQ(eval->info().class_names, std::vector<std::string>{"caf\xc3\xa9"});
  EXPECT_EQ(load_image(*eval, 0).label, 0);
  directory.write("train/cafe\xcc\x81/a.png", image);
  EXPECT_NE(get_error_message([&] { open_dataset(settings, Split::train); }).find("two Unicode forms"),
            std::string::npos);
}

TEST(Dataset, FingerprintChangesWithLabelsAndNames) {
  const TemporaryDirectory directory;
  const auto image = encode_png(make_picture(8, 8), 8, 8, 2, 8);
  for (const char* name : {"cat/a", "cat/b", "dog/c"}) directory.write(fmt::format("train/{}.png", name), image);
  const auto fingerprint = [&] {
    return open_dataset({.source = "image_folder", .path = directory.path().string()}, Split::train)->fingerprint();
  };
  const std::uint64_t first = fingerprint();
  EXPECT_EQ(fingerprint(), first);
  std::filesystem::rename(directory.path() / "train/cat/b.png", directory.path() / "train/dog/b.png");
  const std::uint64_t moved = fingerprint();
  EXPECT_NE(moved, first);
  std::filesystem::rename(directory.path() / "train/dog/b.png", directory.path() / "train/dog/d.png");
  EXPECT_NE(fingerprint(), moved);
}

TEST(ImageFolder, ReportsACorruptFileAsABadSample) {
  const TemporaryDirectory directory;
  directory.write("train/cat/broken.jpg", std::string("\xff\xd8\xff garbage"));
  directory.write("train/cat/text.jpg", std::string("hello"));
  directory.write("train/cat/unfetched.jpg",
                  std::string("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a"));
  const auto data = open_dataset({.source = "image_folder", .path = directory.path().string()}, Split::train);
  EXPECT_THROW(load_image(*data, 2), BadSample);
  EXPECT_NE(get_error_message([&] { load_image(*data, 2); }).find("is a Git LFS pointer"), std::string::npos);
  EXPECT_THROW(load_image(*data, 0), BadSample);
  EXPECT_NE(get_error_message([&] { load_image(*data, 1); }).find("cat/text.jpg: not a JPEG, PNG"), std::string::npos);
  std::filesystem::remove(directory.path() / "train/cat/text.jpg");
  EXPECT_THROW(load_image(*data, 1), BadSample);
}

TEST(Cifar, ReadsPlanesAndLabelsOfBothForms) {
  const TemporaryDirectory directory;
  std::vector<std::uint8_t> record{7};
  for (int plane = 0; plane < 3; ++plane) record.insert(record.end(), 1024, static_cast<std::uint8_t>(10 + plane));
  for (int i = 1; i <= 5; ++i) directory.write("ten/data_batch_" + std::to_string(i) + ".bin", record);
  DataSettings settings{.source = "cifar", .path = (directory.path() / "ten").string(), .augment = Augmentation::none};
  const auto data = open_dataset(settings, Split::train);
  EXPECT_EQ(data->size(), 5);
  EXPECT_EQ(data->info().classes, 10);
  const LoadedImage image = load_image(*data, 4);
  EXPECT_EQ(image.label, 7);
  EXPECT_EQ(std::vector<std::uint8_t>(image.pixels.end() - 3, image.pixels.end()),
            (std::vector<std::uint8_t>{10, 11, 12}));

  record.insert(record.begin(), 3);  // the coarse label
  directory.write("hundred/train.bin", record);
  settings.path = (directory.path() / "hundred").string();
  EXPECT_EQ(load_image(*open_dataset(settings, Split::train), 0).label, 7);
  EXPECT_NE(get_error_message([&] { open_dataset(settings, Split::eval); }).find("test.bin: cannot open"),
            std::string::npos);
  record.pop_back();
  directory.write("hundred/train.bin", record);
  EXPECT_NE(get_error_message([&] { open_dataset(settings, Split::train); }).find("truncated"), std::string::npos);
}

TEST(Synthetic, IsDeterministicAndItsSplitsDiffer) {
  const DataSettings settings{.source = "synthetic", .image_size = 16, .classes = 4};
  const auto train = open_dataset(settings, Split::train);
  const auto eval = open_dataset(settings, Split::eval);
  EXPECT_EQ(train->size(), 1024);
  EXPECT_EQ(eval->size(), 256);
  EXPECT_EQ(load_image(*train, 5).pixels, load_image(*open_dataset(settings, Split::train), 5).pixels);
  EXPECT_NE(load_image(*train, 5).pixels, load_image(*train, 9).pixels);
  EXPECT_NE(load_image(*train, 5).pixels, load_image(*eval, 5).pixels);
  EXPECT_EQ(load_image(*train, 7).label, 3);
}

TEST(Synthetic, TheFingerprintOfManySamplesIsOfSome) {
  DataSettings settings{.source = "synthetic", .image_size = 16, .classes = 4};
  const auto fingerprint = [&](std::int64_t samples, int classes) {
    settings.synthetic_samples = samples, settings.classes = classes;
    return open_dataset(settings, Split::train)->fingerprint();
  };
  EXPECT_EQ(fingerprint(10'000'000'000, 4), fingerprint(10'000'000'000, 4));  // all would take minutes
  EXPECT_NE(fingerprint(10'000'000'000, 4), fingerprint(10'000'000'000, 5));
  EXPECT_NE(fingerprint(400, 4), fingerprint(401, 4));
}

TEST(Synthetic, TextHasValidIdsAndShowsItsClass) {
  const DataSettings settings{.source = "synthetic", .synthetic_kind = DataKind::text, .max_length = 32, .classes = 3};
  const auto data = open_dataset(settings, Split::train);
  int recognised = 0;
  for (std::int64_t i = 0; i < 300; ++i) {
    const Batch sample = load_sample(*data, i, SampleRandom(0, 0, i));
    const auto ids = get_values<std::int32_t>(sample, tensor_names::ids);
    const std::int32_t length = sample.values<std::int32_t>(tensor_names::lengths)[0];
    const std::int32_t label = sample.values<std::int32_t>(tensor_names::labels)[0];
    ASSERT_GE(length, 16);
    ASSERT_LE(length, 32);
    int votes[3] = {};
    for (const std::int32_t id : ids) {
      ASSERT_GE(id, 0);
      ASSERT_LT(id, data->info().vocab_size);
      if (id >= 5 && id < 5 + 12) ++votes[(id - 5) / 4];
    }
    ASSERT_EQ(ids[0], 2);
    ASSERT_EQ(ids[static_cast<std::size_t>(length) - 1], 3);
    recognised += std::max_element(votes, votes + 3) - votes == label;
  }
  EXPECT_GT(recognised, 280);
}

class Packed : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string split : {"train", "val"}) {
      directory.write(split + "/dog/b.png", encode_png(make_picture(90, 60), 90, 60, 2, 8));
      directory.write(split + "/cat/a.png", encode_png(make_picture(40, 70), 40, 70, 2, 8));
    }
  }
  std::filesystem::path pack(Split split, const PackOptions& options = {}, const std::string& pair = "") const {
    const std::filesystem::path file = directory.path() / pack_name(split);
    PackResult packed = pack_folder(directory.path(), split, file, options, [](std::int64_t, std::int64_t) {});
    packed.file.finish(pair);
    packed.file.commit();
    return file;
  }
  DataSettings settings(const std::string& source) const {
    return {.source = source, .path = directory.path().string(), .image_size = 32};
  }

  const TemporaryDirectory directory;
};

TEST_F(Packed, GivesTheFoldersImages) {
  for (const Split split : {Split::train, Split::eval}) {
    pack(split);
    const auto folder = open_dataset(settings("image_folder"), split);
    const auto packed = open_dataset(settings("packed"), split);
    ASSERT_EQ(packed->size(), folder->size());
    EXPECT_EQ(packed->info().class_names, folder->info().class_names);
    for (std::int64_t i = 0; i < folder->size(); ++i) {
      EXPECT_EQ(load_image(*packed, i).label, load_image(*folder, i).label);
      EXPECT_EQ(load_image(*packed, i).pixels, load_image(*folder, i).pixels) << i;  // also the crop that was drawn
    }
  }
}

TEST_F(Packed, ResizesTheShorterSide) {
  const MappedFile file(pack(Split::train, {.short_side = 50}));
  const ImagePack pack = parse_image_pack(file.bytes(), "pack");
  EXPECT_EQ(pack.index[0].width, 40u);  // shorter already
  EXPECT_EQ(pack.index[0].height, 70u);
  EXPECT_EQ(pack.index[1].width, 75u);
  EXPECT_EQ(pack.index[1].height, 50u);
}

TEST_F(Packed, LeavesOutWhatCannotBeDecodedUpToTheLimit) {
  directory.write("train/cat/broken.jpg", std::string("\xff\xd8\xff garbage"));
  pack(Split::train, {.max_bad_samples = 1});
  EXPECT_EQ(open_dataset(settings("packed"), Split::train)->size(), 2);
  std::filesystem::remove(directory.path() / "train.pack");
  const std::string message = get_error_message([&] { pack(Split::train); });
  EXPECT_NE(message.find("broken.jpg"), std::string::npos) << message;
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "train.pack"));
}

TEST_F(Packed, ThatShrinksWhileItIsReadIsAnError) {
  const std::filesystem::path file = pack(Split::train);
  const auto dataset = open_dataset(settings("packed"), Split::train);
  load_image(*dataset, 0);
  std::filesystem::resize_file(file, 0);
  const std::string message = get_error_message([&] { load_image(*dataset, 0); });
  EXPECT_NE(message.find("train.pack: it became shorter"), std::string::npos) << message;
}

TEST_F(Packed, ThatIsWrittenAnewWhileItIsReadIsAnError) {
  const std::filesystem::path file = pack(Split::train);
  const auto dataset = open_dataset(settings("packed"), Split::train);
  load_image(*dataset, 0);
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(100).put('x');
  std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) + std::chrono::seconds(1));
  const std::string message = get_error_message([&] { load_image(*dataset, 0); });
  EXPECT_NE(message.find("train.pack: was replaced or written to"), std::string::npos) << message;
}

TEST_F(Packed, TakesTheClassesOfTheTrainingPack) {
  pack(Split::train);
  std::filesystem::remove_all(directory.path() / "train");
  std::filesystem::rename(directory.path() / "val/dog", directory.path() / "val/bird");
  std::filesystem::copy(directory.path() / "val", directory.path() / "train", std::filesystem::copy_options::recursive);
  pack(Split::eval);
  const auto error = [&] { return get_error_message([&] { open_dataset(settings("packed"), Split::eval); }); };
  EXPECT_NE(error().find("val.pack: class \"bird\" does not occur in"), std::string::npos) << error();
  for (const char* split : {"train", "val"}) {
    std::filesystem::remove_all(directory.path() / split / "cat");
    std::filesystem::rename(directory.path() / split / "bird", directory.path() / split / "dog");
  }
  pack(Split::eval);
  const auto eval = open_dataset(settings("packed"), Split::eval);
  EXPECT_EQ(eval->info().class_names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(eval->label(0), 1);
}

TEST_F(Packed, RefusesTwoThatWereNotWrittenTogether) {
  pack(Split::train, {}, "first");
  pack(Split::eval, {}, "second");  // whole files both, as after a kill between their two renames
  EXPECT_EQ(open_dataset(settings("packed"), Split::train)->size(), 2);
  const std::string message = get_error_message([&] { open_dataset(settings("packed"), Split::eval); });
  EXPECT_NE(message.find("val.pack: was not written together with"), std::string::npos) << message;
  pack(Split::eval, {}, "first");
  EXPECT_EQ(open_dataset(settings("packed"), Split::eval)->size(), 2);
}

TEST_F(Packed, RefusesEveryTruncationAndEveryDamagedByteOfItsTables) {
  const MappedFile file(pack(Split::train));
  const std::vector<std::byte> whole(file.bytes().begin(), file.bytes().end());
  for (std::size_t keep = 0; keep < whole.size(); keep += keep + 40 < whole.size() ? 101 : 1) {
    EXPECT_THROW(parse_image_pack(std::span(whole).first(keep), "x"), Error) << keep;
  }
  const std::size_t pixels = 8 + 3 * (90 * 60 + 40 * 70);
  for (std::size_t i = pixels; i < whole.size(); ++i) {
    std::vector<std::byte> damaged = whole;
    damaged[i] ^= std::byte{0x11};
    EXPECT_THROW(parse_image_pack(damaged, "x"), Error) << i;
  }
  const std::string message = get_error_message([&] { open_dataset(settings("packed"), Split::eval); });
  EXPECT_NE(message.find("val.pack"), std::string::npos) << message;
}

}  // namespace
}  // namespace ptrain
