// Videos in YouTube-8M's records: what is read of them, synthetic ones, and how what is wrong is refused.
#include "core/data/video/video_records.h"

#include "core/data/factory.h"
#include "core/data/shards/tf_example.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"
#include "tests/unit/data/shards/shard_writer.h"
#include "tests/unit/data/test_files.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace video_records_test {

/// Features of `frames` frames, of which number i has bytes first + i.
std::vector<std::string> frame_list(int frames, std::size_t width, int first = 0) {
  std::vector<std::string> list;
  for (int i = 0; i < frames; ++i) list.push_back(bytes_feature(std::string(width, static_cast<char>(first + i))));
  return list;
}

std::string video(const std::string& id, const std::vector<std::int64_t>& labels, int frames) {
  return tf_record(make_sequence_example({{"id", bytes_feature(id)}, {"labels", integer_feature(labels)}},
                                         {{"rgb", frame_list(frames, 1024, 100)}, {"audio", frame_list(frames, 128)}}));
}

Batch load_video(const Dataset& data, std::int64_t index) {
  return load_sample(data, index, SampleRandom(0, 0, index));
}

class Videos : public ::testing::Test {
 protected:
  DataSettings settings(int max_frames = 4) const {
    return {.source = "youtube8m", .path = directory.path().string(), .max_frames = max_frames};
  }
  std::string path(const std::string& name) const { return (directory.path() / name).string(); }
  std::string refusal(Split split = Split::train, int classes = 0) const {
    DataSettings chosen = settings();
    chosen.classes = classes;
    return get_error([&] { open_dataset(chosen, split); });
  }
  /// Of the only record of the training file, when it is loaded.
  std::string load_refusal(const std::string& record) const {
    directory.write("train0.tfrecord", record);
    const auto data = open_dataset(settings(), Split::train);
    return get_error_message([&] { load_video(*data, 0); });
  }
  const TemporaryDirectory directory;
};

TEST_F(Videos, AreReadWithTheirFirstFramesAndLabels) {
  directory.write("train0000.tfrecord", video("abcd", {7, 2, 7}, 6) + video("efgh", {0}, 2));
  directory.write("validate0000.tfrecord", video("ijkl", {3}, 4));
  const auto data = open_dataset(settings(), Split::train);
  ASSERT_EQ(data->size(), 2);
  EXPECT_EQ(data->info().classes, 8);
  EXPECT_EQ(data->origin(1).record, 1);
  const Batch cut = load_video(*data, 0), padded = load_video(*data, 1);
  EXPECT_EQ(get_values<std::int32_t>(cut, tensor_names::multi_hot_labels),
            (std::vector<std::int32_t>{0, 0, 1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(get_values<float>(cut, tensor_names::frame_mask), (std::vector<float>{1, 1, 1, 1}));
  EXPECT_EQ(get_values<float>(padded, tensor_names::frame_mask), (std::vector<float>{1, 1, 0, 0}));
  const auto rgb = cut.at(tensor_names::rgb_features).row<float>(0);
  ASSERT_EQ(rgb.size(), 4u * 1024);
  for (std::size_t frame = 0; frame < 4; ++frame) {
    EXPECT_NEAR(rgb[frame * 1024 + 1023], (100.0 + static_cast<double>(frame)) * 4 / 255 + 4.0 / 512 - 2, 1e-6);
  }
  const auto audio = padded.at(tensor_names::audio_features).row<float>(0);
  EXPECT_FLOAT_EQ(audio[127], dequantize_feature(0));
  EXPECT_FLOAT_EQ(audio[128], dequantize_feature(1));
  EXPECT_EQ(audio[256], 0) << "after its last frame";
  const auto evaluation = open_dataset(settings(), Split::eval);
  EXPECT_EQ(evaluation->size(), 1);
  EXPECT_EQ(evaluation->info().classes, 8) << "as in training";
}

TEST_F(Videos, AreInTheRangeThatBytesStandFor) {
  EXPECT_FLOAT_EQ(dequantize_feature(0), -2 + 4.0f / 512);
  EXPECT_FLOAT_EQ(dequantize_feature(255), 2 + 4.0f / 512);
}

TEST_F(Videos, AreRefusedByFileAndRecord) {
  const std::string good = video("abcd", {1}, 2), file = path("train0.tfrecord");
  const auto refuse = [&](const std::string& record) {
    directory.write("train0.tfrecord", good + record);
    const std::string message = refusal();
    const std::string place = fmt::format("{}: record 1", file);
    EXPECT_TRUE(message.starts_with(place)) << message;
    return message.substr(place.size());
  };
  const std::string at = fmt::format(" at byte {}: ", good.size());
  const std::string labels = integer_feature({1});
  EXPECT_EQ(refuse(tf_record("\x0b")), at + "is not a tf.train.SequenceExample");
  EXPECT_EQ(refuse(tf_record(make_sequence_example({{"labels", labels}}, {}))),
            at + "has no id: expected a text in the context's feature id");
  EXPECT_EQ(refuse(video("abcd", {-1}, 1)), at + "label -1 is out of range: expected 0 to 99999");
  EXPECT_EQ(refuse(video("abcd", {100'000}, 1)), at + "label 100000 is out of range: expected 0 to 99999");
  EXPECT_EQ(refuse(video("abcd", {}, 1)), ": has no labels");
  EXPECT_EQ(refuse(video("abcd", std::vector<std::int64_t>(4097, 1), 1)), at + "has more than 4096 labels");
  EXPECT_NE(refuse(good.substr(0, good.size() - 1)).find("truncated"), std::string::npos);
  directory.write("train0.tfrecord", good);
  EXPECT_EQ(refusal(Split::train, 1),
            file +
                ": record 0: label 1 is out of range: expected 0 to 0 (model.classes, vocabulary.csv, or the training "
                "split's largest label)");
  EXPECT_EQ(refusal(Split::eval), directory.path().string() +
                                      ": has no shards to evaluate on; expected val/*.tfrecord, or names that contain "
                                      "the word val, validation, validate or test");
}

TEST_F(Videos, HaveClassesWithTheNamesInTheVocabulary) {
  constexpr const char* header = "Index,TrainVideoCount,KnowledgeGraphId,Name,WikiDescription\n";
  directory.write("train0.tfrecord", video("abcd", {1}, 2));
  const auto write = [&](const std::string& rows) { directory.write("vocabulary.csv", header + rows); };
  const std::string rows = "0,9,/m/a,Game,\"Rules, and\nturns.\"\n1,8,/m/b,,\n2,7,/m/c,Game,\n";
  write(rows);
  const auto data = open_dataset(settings(), Split::train);
  EXPECT_EQ(data->info().classes, 3) << "more than the records have";
  EXPECT_EQ(data->info().class_names, (std::vector<std::string>{"Game", "/m/b", "Game (/m/c)"}));
  const std::string file = path("vocabulary.csv");
  DataSettings more = settings();
  more.classes = 4;
  EXPECT_EQ(get_error_message([&] { open_dataset(more, Split::train); }),
            file + ": has 3 classes (Game, /m/b, Game (/m/c)), but model.classes is 4; without it the data's are used");
  write("0,9,/m/a,Game,\n2,8,/m/b,,\n");
  EXPECT_EQ(refusal(), file + ":3: expected Index 1, got \"2\"");
  write("0,9,/m/a,Game\n");
  EXPECT_EQ(refusal(), file + ":2: expected 5 fields, got 4");
  write("0,9,/m/a,Game,\n");
  EXPECT_NE(refusal().find("record 0: label 1 is out of range: expected 0 to 0"), std::string::npos);
  directory.write("vocabulary.csv", std::string("Index,Name\n"));
  EXPECT_EQ(refusal(), file + ":1: has no column KnowledgeGraphId");
}

TEST_F(Videos, HaveFramesThatAreCheckedWhenTheyAreRead) {
  const auto record = [](const FeatureLists& lists) {
    return tf_record(make_sequence_example({{"id", bytes_feature("abcd")}, {"labels", integer_feature({1})}}, lists));
  };
  const std::string place = path("train0.tfrecord") + ": record 0: ";
  const std::pair rgb("rgb", frame_list(2, 1024)), audio("audio", frame_list(2, 128));
  EXPECT_EQ(load_refusal(record({rgb, audio})), "");
  EXPECT_EQ(load_refusal(record({audio})), place + "has no frames: expected a feature list rgb");
  EXPECT_EQ(load_refusal(record({rgb})), place + "expected as many frames of audio as of rgb, got 0 and 2");
  EXPECT_EQ(load_refusal(record({rgb, {"audio", frame_list(2, 127)}})),
            place + "frame 0 of audio: expected one value of 128 bytes, got 1 of 127");
  EXPECT_EQ(load_refusal(record({{"rgb", {rgb.second[0], integer_feature({1})}}, audio})),
            place + "frame 1 of rgb: expected one value of 1024 bytes, got 0 of 0");
  std::string damaged = record({rgb, audio});
  damaged[damaged.size() - 20] ^= 1;
  EXPECT_EQ(load_refusal(damaged), place + "its checksum is wrong (damaged)");
}

TEST_F(Videos, AreReadWithoutLabelsWhereNoneAreLearnt) {
  directory.write("test.tfrecord", video("abcd", {}, 1) + video("efgh", {2}, 1) + video("ijkl", {3}, 1));
  const VideoRecords videos({directory.path() / "test.tfrecord"});
  const DatasetInfo info = video_info(2, 3);
  std::vector<TensorSpec> specs = input_tensors(info);
  for (const TensorSpec& target : target_tensors(info)) specs.push_back(target);
  std::vector<std::uint8_t> bytes;
  const auto load_labels = [&](std::int64_t index) {
    Batch batch(specs, 1);
    videos.load(index, bytes, SampleRow(batch, 0));
    return get_values<std::int32_t>(batch, tensor_names::multi_hot_labels);
  };
  EXPECT_EQ(load_labels(0), (std::vector<std::int32_t>{-1, -1, -1}));
  EXPECT_EQ(load_labels(1), (std::vector<std::int32_t>{0, 0, 1}));
  EXPECT_EQ(get_error_message([&] { load_labels(2); }),
            path("test.tfrecord") + ": record 2: label 3 is out of range for 3 classes");
}

TEST_F(Videos, OfTheSameListTwiceAreThoseOfTheLast) {
  directory.write("train0.tfrecord",
                  tf_record(make_sequence_example(
                      {{"id", bytes_feature("abcd")}, {"labels", integer_feature({1})}},
                      {{"rgb", frame_list(3, 1024, 9)}, {"rgb", frame_list(1, 1024)}, {"audio", frame_list(1, 128)}})));
  const Batch loaded = load_video(*open_dataset(settings(), Split::train), 0);
  const auto rgb = loaded.at(tensor_names::rgb_features).row<float>(0);
  EXPECT_FLOAT_EQ(rgb[0], dequantize_feature(0));
  EXPECT_EQ(rgb[1024], 0);
}

TEST_F(Videos, ThatAreSyntheticShowEachOfTheirClasses) {
  const auto data =
      open_dataset({.source = "synthetic", .synthetic_kind = DataKind::video, .max_frames = 8, .synthetic_samples = 64},
                   Split::train);
  EXPECT_EQ(data->info().classes, 10);
  std::size_t most = 0;
  for (std::int64_t i = 0; i < data->size(); ++i) {
    const Batch loaded = load_video(*data, i);
    const auto labels = get_values<std::int32_t>(loaded, tensor_names::multi_hot_labels);
    const auto mask = get_values<float>(loaded, tensor_names::frame_mask);
    EXPECT_EQ(labels[static_cast<std::size_t>(i % 10)], 1);
    EXPECT_GE(std::ranges::count(mask, 1.0f), 4);
    most = std::max(most, static_cast<std::size_t>(std::ranges::count(labels, 1)));
  }
  EXPECT_EQ(most, 3u);
}

}  // namespace video_records_test
}  // namespace ptrain
