// Shards as data sets: which files are whose, what classes there are, and that images are those of a folder.
#include "core/data/factory.h"
#include "core/io/file_identity.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"
#include "tests/unit/data/shards/shard_writer.h"
#include "tests/unit/data/test_files.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ptrain {
namespace {

std::string as_text(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

class Shards : public ::testing::Test {
 protected:
  std::string picture(int width) const {
    return as_text(encode_jpeg(make_picture(width, 40), width, 40, JpegKind::rgb));
  }
  /// A shard of samples with these labels.
  std::string tar(const std::vector<std::string>& labels) const {
    std::string shard;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const std::string key = std::to_string(i);
      shard += tar_member(key + ".jpg", picture(40)) + tar_member(key + ".cls", labels[i]);
    }
    return shard + tar_end();
  }
  std::string records(const std::vector<std::int64_t>& labels, const std::string& text = "") const {
    std::string file;
    for (const std::int64_t label : labels) {
      Features features{{"image/encoded", bytes_feature(picture(40))}, {"image/class/label", integer_feature({label})}};
      if (!text.empty()) features.emplace_back("image/class/text", bytes_feature(text + std::to_string(label)));
      file += tf_record(make_example(features));
    }
    return file;
  }
  DataSettings settings(const std::string& source, const std::string& folder = "") const {
    return {.source = source, .path = (directory.path() / folder).string(), .image_size = 32};
  }
  std::string refusal(const DataSettings& settings, Split split = Split::train,
                      ExitCode code = ExitCode::failed) const {
    return get_error([&] { open_dataset(settings, split); }, code);
  }
  std::string path(const std::string& name) const { return (directory.path() / name).string(); }

  const TemporaryDirectory directory;
};

TEST_F(Shards, GiveAFoldersImagesInItsOrder) {
  std::string shards[3], file;
  int number = 0;
  for (const std::string name : {"cat", "dog"}) {
    for (int i = 0; i < 3; ++i, ++number) {
      const std::string key = name + "/" + std::to_string(i), bytes = picture(40 + 7 * number);
      for (const std::string split : {"train/", "val/"}) directory.write("folder/" + split + key + ".jpg", bytes);
      shards[number % 3] += tar_member(key + ".jpg", bytes) + tar_member(key + ".txt", name);
      file += tf_record(make_example({{"image/encoded", bytes_feature(bytes)},
                                      {"image/class/text", bytes_feature(name)},
                                      {"image/class/label", integer_feature({name == "dog"})}}));
    }
  }
  for (const std::string split : {"train", "val"}) {
    for (int i = 0; i < 3; ++i) directory.write(fmt::format("tar/{}/{}.tar", split, i), shards[i] + tar_end());
    directory.write(fmt::format("tf/{}-00000-of-00001", split), file);
  }
  for (const Split split : {Split::train, Split::eval}) {
    const auto folder = open_dataset(settings("image_folder", "folder"), split);
    const auto tar = open_dataset(settings("webdataset", "tar"), split);
    const auto tf = open_dataset(settings("tfrecord", "tf"), split);
    for (const Dataset* data : {tar.get(), tf.get()}) {
      ASSERT_EQ(data->size(), 6);
      EXPECT_EQ(data->info().class_names, folder->info().class_names);
      for (std::int64_t i = 0; i < 6; ++i) {
        EXPECT_EQ(load_image(*data, i).label, load_image(*folder, i).label);
        EXPECT_EQ(load_image(*data, i).pixels, load_image(*folder, i).pixels) << i;
      }
    }
  }
}

TEST_F(Shards, AreDistinguishedByFoldersOrNames) {
  directory.write("a/imagenet1k-train-000.tar", tar({"0", "1"}));
  directory.write("a/imagenet1k-validation-000.tar", tar({"0", "1", "1"}));
  directory.write("a/.train-001.tar", std::string("hidden"));
  EXPECT_EQ(open_dataset(settings("webdataset", "a"), Split::train)->size(), 2);
  EXPECT_EQ(open_dataset(settings("webdataset", "a"), Split::eval)->size(), 3);
  directory.write("b/TEST.tfrecords", records({0}));
  directory.write("b/x-train.tfrecord-00000-of-00002", records({0, 1}));
  directory.write("b/x-train.tfrecord-00001-of-00002", records({1}));
  directory.write("b/dataset_info.json", std::string("{}"));
  EXPECT_EQ(open_dataset(settings("tfrecord", "b"), Split::train)->size(), 3);
  EXPECT_EQ(open_dataset(settings("tfrecord", "b"), Split::eval)->size(), 1);
  directory.write("c/restrained-0.tar", tar({"0", "1"}));  // no word of it is train
  EXPECT_EQ(open_dataset(settings("webdataset", "c"), Split::train)->size(), 2);
}

TEST_F(Shards, NoteThoseThatAreMissing) {
  directory.write("train-00000-of-00003.tar", tar({"0", "1"}));
  directory.write("train-00002-of-00003.tar", tar({"0", "1"}));
  const auto notes = [&] { return open_dataset(settings("webdataset"), Split::train)->notes(); };
  ASSERT_EQ(notes().size(), 1u);
  EXPECT_TRUE(notes()[0].ends_with(": found 2 of the 3 shards that their names count")) << notes()[0];
  directory.write("train-00001-of-00003.tar", tar({"0", "1"}));
  EXPECT_TRUE(notes().empty());
}

TEST_F(Shards, OfOneSetAreParted) {
  for (int i = 0; i < 4; ++i) directory.write(fmt::format("shard-{}.tar", i), tar({"0", "1", "1"}));
  DataSettings with_dev_split = settings("webdataset");
  EXPECT_NE(refusal(with_dev_split, Split::eval).find("has no shards to evaluate on; expected val/*.tar"),
            std::string::npos);
  with_dev_split.dev_fraction = 0.25;
  EXPECT_EQ(open_dataset(with_dev_split, Split::train)->size(), 9);
  const auto eval = open_dataset(with_dev_split, Split::eval);
  ASSERT_EQ(eval->size(), 3);
  EXPECT_EQ(load_image(*eval, 0).label, 0);
  EXPECT_EQ(load_image(*eval, 1).label, 1);
  directory.write("val/0.tar", tar({"0"}));
  EXPECT_EQ(refusal(with_dev_split, Split::train, ExitCode::usage),
            "data.split.dev: " + path("val/0.tar") +
                " exists for evaluation and would not be read; remove the key or that data");
}

TEST_F(Shards, NumberClassesAsTheirLabelsSay) {
  directory.write("train.tar", tar({"3", "0"}));
  directory.write("val.tar", tar({"1", "0"}));
  EXPECT_EQ(open_dataset(settings("webdataset"), Split::eval)->info().class_names,
            (std::vector<std::string>{"0", "1", "2", "3"}));
  directory.write("train.tar", tar({"wolf", "10"}));
  directory.write("val.tar", tar({"wolf"}));
  const auto eval = open_dataset(settings("webdataset"), Split::eval);
  EXPECT_EQ(eval->info().class_names, (std::vector<std::string>{"10", "wolf"}));
  EXPECT_EQ(load_image(*eval, 0).label, 1);
  directory.write("val.tar", tar({"fox"}));
  EXPECT_NE(refusal(settings("webdataset"), Split::eval)
                .find("val.tar: byte 512: \"0.jpg\": class \"fox\" does not occur in the training split"),
            std::string::npos);
  DataSettings three = settings("webdataset");
  three.classes = 3;
  EXPECT_NE(refusal(three, Split::train, ExitCode::usage).find("has 2 classes (10, wolf), but model.classes is 3"),
            std::string::npos);
}

TEST_F(Shards, BeginAtTheFirstLabel) {
  directory.write("train.tfrecord", records({2, 1, 3}, "class "));
  DataSettings first = settings("tfrecord");
  const auto from_zero = open_dataset(first, Split::train);
  EXPECT_EQ(from_zero->info().classes, 4);
  ASSERT_EQ(from_zero->notes().size(), 1u);
  EXPECT_NE(from_zero->notes()[0].find("labels are 1 to 3; data.first_label 1 would make"), std::string::npos);
  first.first_label = 1;
  const auto from_one = open_dataset(first, Split::train);
  EXPECT_EQ(from_one->info().class_names, (std::vector<std::string>{"class 1", "class 2", "class 3"}));
  EXPECT_EQ(load_image(*from_one, 0).label, 0);
  EXPECT_TRUE(from_one->notes().empty());
  first.classes = 3;
  EXPECT_EQ(open_dataset(first, Split::train)->info().classes, 3);
  first.first_label = 0;
  EXPECT_EQ(refusal(first), path("train.tfrecord") + ": byte " + std::to_string(records({2, 1}, "class ").size()) +
                                ": label 3 is out of range: expected 0 to 2, by 3 classes (model.classes) from "
                                "data.first_label 0 on");
  first.first_label = 2;
  EXPECT_NE(refusal(first).find("label 1 is out of range: expected 2 to 4"), std::string::npos);
  directory.write("train.tfrecord", records({-1, 3'000'000'000}));
  first.classes = 0;
  first.first_label = 0;
  EXPECT_NE(refusal(first).find("label -1 is out of range: expected 0 to 99999"), std::string::npos);
  directory.write("train.tar", tar({"cat"}));
  first.source = "webdataset";
  first.first_label = 1;
  EXPECT_NE(refusal(first, Split::train, ExitCode::usage).find("data.first_label: 1 is for numeric labels"),
            std::string::npos);
}

TEST_F(Shards, RefuseWhatHoldsNothing) {
  EXPECT_EQ(refusal(settings("webdataset")),
            directory.path().string() +
                "/: has no shards to train on; expected train/*.tar, or names that contain the word train");
  directory.write("train-0.tar", tar({"0", "1"}));
  directory.write("train-1.tar", std::string());
  EXPECT_EQ(refusal(settings("webdataset")), path("train-1.tar") + ": is empty");
  directory.write("train-1.tar", tar_end());
  EXPECT_EQ(refusal(settings("webdataset")), path("train-1.tar") + ": has no samples");
  EXPECT_EQ(refusal(settings("tfrecord", "none")), path("none") + ": no such directory");
}

TEST_F(Shards, ThatAreReplacedWhileTheyAreReadAreAnError) {
  directory.write("train.tar", tar({"0", "1"}));
  const auto data = open_dataset(settings("webdataset"), Split::train);
  load_image(*data, 0);
  directory.write("new.tar", tar({"1", "0"}));
  std::filesystem::rename(path("new.tar"), path("train.tar"));
  EXPECT_THROW(load_image(*data, 0), ChangedFile);
}

TEST_F(Shards, ThatAreCompressedAreNamed) {
  directory.write("train/0.tfrecord.gz", std::string("x"));
  EXPECT_NE(refusal(settings("tfrecord")).find("train/0.tfrecord.gz: is compressed"), std::string::npos);
  directory.write("train/0.tgz", std::string("x"));
  EXPECT_NE(refusal(settings("webdataset")).find("train/0.tgz: is compressed"), std::string::npos);
  directory.write("train/0.tfrec", records({0, 1}));
  EXPECT_EQ(open_dataset(settings("tfrecord"), Split::train)->size(), 2);
}

TEST_F(Shards, ReportDamagedImagesAsBadSamples) {
  const std::string shard = tar_member("k.jpg", "no image") + tar_member("k.cls", "0") + tar_end();
  directory.write("train.tar", shard);
  const auto data = open_dataset(settings("webdataset"), Split::train);
  EXPECT_EQ(get_error_message([&] { load_image(*data, 0); }),
            path("train.tar") + ": byte 512: \"k.jpg\": not a JPEG, PNG, WebP or BMP image");
  EXPECT_THROW(load_image(*data, 0), BadSample);
  directory.write("unfetched/train.tar", tar_member("k.jpg", "version https://git-lfs.github.com/spec/v1") +
                                             tar_member("k.cls", "0") + tar_end());
  const auto unfetched = open_dataset({.source = "webdataset", .path = path("unfetched")}, Split::train);
  EXPECT_NE(get_error_message([&] { load_image(*unfetched, 0); }).find("\"k.jpg\": it is a Git LFS pointer"),
            std::string::npos);
  std::filesystem::resize_file(path("train.tar"), 513);
  EXPECT_THROW(load_image(*data, 0), ChangedFile);
  std::string file = records({0, 1});
  file[file.size() / 4] ^= 1;
  directory.write("train.tfrecord", file);
  const auto damaged = open_dataset(settings("tfrecord"), Split::train);
  EXPECT_EQ(get_error_message([&] { load_image(*damaged, 0); }),
            path("train.tfrecord") + ": byte 0: its checksum is wrong (damaged)");
  EXPECT_THROW(load_image(*damaged, 0), BadSample);
  EXPECT_EQ(load_image(*damaged, 1).label, 1);
}

}  // namespace
}  // namespace ptrain
