// TFRecord files of images: framing, tf.train.Example, and how what is wrong is refused.
#include "core/data/shards/tf_record.h"
#include "core/io/crc32c.h"
#include "tests/error_message.h"
#include "tests/unit/data/shards/shard_writer.h"

#include <gtest/gtest.h>

#include <bit>

namespace ptrain {
namespace {

ShardIndex record_index(const std::string& file) { return index_tf_records(MemoryBytes(get_bytes(file), "t")); }

std::string record_refusal(const std::string& file) {
  return get_error([&] { record_index(file); });
}

std::string example_refusal(const Features& features) { return record_refusal(tf_record(make_example(features))); }

/// The image of a record, as training reads it.
std::string get_image(const std::string& file, const ShardSample& sample) {
  const auto image = image_in_tf_record(get_bytes(file).subspan(sample.offset, sample.length), "place");
  return {reinterpret_cast<const char*>(image.data()), image.size()};
}

/// As ImageNet's files have it: the features that are read are between others.
std::string imagenet_record(const std::string& image, std::int64_t label) {
  const std::string boxes = proto_bytes(2, proto_bytes(1, std::string(8, 'f')));  // float_list
  return tf_record(make_example({{"image/object/bbox/xmin", boxes},
                                 {"image/class/label", integer_feature({label})},
                                 {"image/class/text", bytes_feature("tench")},
                                 {"image/encoded", bytes_feature(image)},
                                 {"image/filename", bytes_feature("n1_" + std::to_string(label))},
                                 {"image/height", integer_feature({5})}}));
}

TEST(Crc32c, IsCastagnolis) {
  const auto unmasked = [](std::string_view data) {
    return std::rotl(masked_crc32c(get_bytes(data)) - 0xa282ead8u, 15);
  };
  EXPECT_EQ(unmasked("123456789"), 0xe3069283u);
  EXPECT_EQ(unmasked(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(unmasked(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(unmasked({}), 0u);
}

TEST(TfRecord, FindsImageLabelAndNames) {
  const std::string image(1000, 'i');
  const std::string file = imagenet_record(image, 3) + imagenet_record("second", 4);
  const ShardIndex index = record_index(file);
  ASSERT_EQ(index.samples.size(), 2u);
  EXPECT_EQ(index.samples[0].name, "n1_3");
  EXPECT_EQ(index.labels[0].text, "3");
  EXPECT_EQ(index.labels[1].text, "4");
  EXPECT_EQ(index.labels[1].class_name, "tench");
  EXPECT_EQ(get_image(file, index.samples[0]), image);
  EXPECT_EQ(get_image(file, index.samples[1]), "second");
}

TEST(TfRecord, ReadsShortNamesAndBothPackings) {
  const std::string file = tf_record(make_example({{"image", bytes_feature("one")},
                                                   {"label", integer_feature({-2}, Packing::unpacked)},
                                                   {"file_name", bytes_feature("f")}}));
  const ShardIndex index = record_index(file);
  ASSERT_EQ(index.samples.size(), 1u);
  EXPECT_EQ(index.labels[0].text, "-2");
  EXPECT_EQ(index.samples[0].name, "f");
  EXPECT_EQ(get_image(file, index.samples[0]), "one");
}

TEST(TfRecord, RefusesEveryTruncation) {
  const std::string whole = imagenet_record("image", 1);
  for (std::size_t keep = 1; keep < whole.size(); ++keep) {
    EXPECT_NE(record_refusal(whole.substr(0, keep)).find("t: record 0 at byte 0: "), std::string::npos) << keep;
    EXPECT_NE(record_refusal(whole + whole.substr(0, keep)).find("truncated"), std::string::npos) << keep;
  }
}

TEST(TfRecord, FindsEveryDamagedByte) {
  const std::string image(300, 'i');
  const std::string whole = imagenet_record(image, 1);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] ^= 0x10;
    try {
      const ShardIndex index = record_index(damaged);
      ASSERT_EQ(index.samples.size(), 1u);
      EXPECT_THROW(get_image(damaged, index.samples[0]), BadSample) << i;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("checksum"), std::string::npos) << i << ": " << error.what();
    }
  }
  EXPECT_EQ(record_refusal("\x1f\x8b" + std::string(30, 'x')),
            "t: is compressed, so its records cannot be read in place; expected plain records (gunzip makes them)");
}

TEST(TfRecord, RefusesWhatIsNoImageExample) {
  const auto image = std::pair("image/encoded", bytes_feature("i"));
  const auto label = std::pair("image/class/label", integer_feature({1}));
  EXPECT_EQ(example_refusal({label}), "t: record 0 at byte 0: has no image: expected a feature image/encoded or image");
  EXPECT_EQ(example_refusal({image}),
            "t: record 0 at byte 0: has no label: expected a feature image/class/label or label");
  EXPECT_EQ(example_refusal({image, {"label", integer_feature({1, 2})}}),
            "t: record 0 at byte 0: expected one whole number in label");
  EXPECT_EQ(example_refusal({image, {"label", bytes_feature("cat")}}),
            "t: record 0 at byte 0: expected one whole number in label");
  EXPECT_EQ(example_refusal({label, {"image", bytes_feature("")}}),
            "t: record 0 at byte 0: expected one encoded image in image");
  EXPECT_EQ(example_refusal({label, {"image", integer_feature({1})}}),
            "t: record 0 at byte 0: expected one encoded image in image");
  EXPECT_EQ(example_refusal({}), "t: record 0 at byte 0: has no image: expected a feature image/encoded or image");
  for (const std::string& bytes : {std::string("\x0a\x7f"), std::string("\x0b"), std::string("\x0a"),
                                   std::string(11, '\xff'), std::string("\x09 123"), std::string("\x02\x01x")}) {
    EXPECT_EQ(record_refusal(tf_record(bytes)), "t: record 0 at byte 0: is not a tf.train.Example");
  }
}

}  // namespace
}  // namespace ptrain
