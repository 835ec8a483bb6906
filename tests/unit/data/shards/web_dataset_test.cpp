// WebDataset's shards: what of tar is read, how members make samples, and how what is wrong is refused.
#include "core/data/shards/web_dataset.h"
#include "core/data/shards/tar_archive.h"
#include "tests/error_message.h"
#include "tests/unit/data/shards/shard_writer.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

std::vector<TarMember> get_members(const std::string& archive) {
  std::vector<TarMember> members;
  read_tar(MemoryBytes(get_bytes(archive), "a.tar"), [&](const TarMember& member) { members.push_back(member); });
  return members;
}

std::string tar_refusal(const std::string& archive) {
  return get_error([&] { index_web_dataset(MemoryBytes(get_bytes(archive), "a.tar")); });
}

ShardIndex tar_index(const std::string& archive) { return index_web_dataset(MemoryBytes(get_bytes(archive), "a.tar")); }

/// "name=label" of each sample, and that its bytes are those of its name's first letter.
std::vector<std::string> get_samples(const std::string& archive) {
  const ShardIndex index = tar_index(archive);
  std::vector<std::string> samples;
  for (const ShardSample& sample : index.samples) {
    samples.push_back(sample.name + "=" + index.labels[static_cast<std::size_t>(sample.label)].text);
    EXPECT_EQ(archive.substr(sample.offset, sample.length), "image of " + sample.name);
  }
  return samples;
}

std::string image_member(const std::string& name) { return tar_member(name, "image of " + name); }

TEST(Tar, ReadsEveryFormOfNameAndSize) {
  const std::string long_name = std::string(150, 'd') + "/" + std::string(120, 'f');
  const std::string archive = tar_member("plain", "1234") + tar_member("name", "12", {.prefix = "prefix"}) +
                              tar_member("././@LongLink", long_name + std::string(1, '\0'), {.type = 'L'}) +
                              tar_member(long_name, "abc", {.base_256 = true}) +
                              tar_member("g", "13 comment=x\n", {.type = 'g'}) + pax_header("path", "päx") +
                              tar_member("short", std::string(513, 'x')) + tar_member("folder/", "", {.type = '5'}) +
                              tar_member("link", "", {.type = '2'}) + tar_member("old/", "", {.type = '\0'}) +
                              tar_member("last", "");
  const std::vector<TarMember> members = get_members(archive + tar_end());
  const std::vector<std::pair<std::string, std::uint64_t>> expected{{"plain", 4}, {"prefix/name", 2}, {long_name, 3},
                                                                    {"päx", 513}, {"folder/", 0},     {"link", 0},
                                                                    {"old/", 0},  {"last", 0}};
  ASSERT_EQ(members.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(members[i].path, expected[i].first);
    EXPECT_EQ(members[i].size, expected[i].second);
    EXPECT_EQ(members[i].is_file, i < 4 || i == 7) << members[i].path;
  }
  EXPECT_EQ((archive + tar_end()).substr(members[2].offset, 3), "abc");
  EXPECT_EQ(get_members(tar_end()).size(), 0u);
}

TEST(Tar, TakesAPaxHeadersSize) {
  std::string member = tar_member("big", std::string(600, 'x'));
  member.replace(124, 11, "00000000000");  // as programs write what octal digits cannot hold
  sign_tar_header(member);
  const auto members = get_members(pax_header("size", "600") + member + tar_member("next", "") + tar_end());
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].size, 600u);
  EXPECT_EQ(members[1].path, "next");
}

TEST(Tar, ReadsOnBehindTheEndOfAJoinedArchive) {
  const std::string first = tar_member("a", "1") + tar_end(), second = tar_member("b", "2") + tar_end();
  const auto members = get_members(first + std::string(9216, '\0') + second);
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[1].path, "b");
  EXPECT_NE(get_error([&] { get_members(first + std::string(512, 'x')); }).find("byte 2048: the checksum"),
            std::string::npos);
}

TEST(Tar, RefusesEveryTruncationAndEveryDamagedHeader) {
  const std::string whole = image_member("a.jpg") + tar_member("a.cls", "1");
  EXPECT_EQ(get_members(whole + std::string(512, '\0')).size(), 2u);
  for (std::size_t keep = 0; keep < whole.size() + 512; keep += 37) {
    const std::string message = get_error([&] { get_members((whole + tar_end()).substr(0, keep)); });
    EXPECT_NE(message.find("truncated"), std::string::npos) << keep << ": " << message;
  }
  for (std::size_t i = 0; i < 512; ++i) {
    if (i == 155) continue;  // after the checksum's end any byte is allowed
    std::string damaged = whole + tar_end();
    damaged[1024 + i] ^= 0x11;
    EXPECT_TRUE(get_error([&] { get_members(damaged); }).starts_with("a.tar: byte 1024: ")) << i;
  }
  EXPECT_EQ(get_error([&] { get_members(std::string(1024, 'x')); }),
            "a.tar: byte 0: the checksum of a tar header is wrong (damaged, or not a tar)");
  EXPECT_NE(get_error([&] { get_members("\x1f\x8b" + std::string(1024, 'x')); }).find("is compressed"),
            std::string::npos);
}

TEST(Tar, RefusesWhatItCannotRead) {
  std::string negative = tar_member("a", "");
  negative.replace(124, 12, std::string(12, '\xff'));
  sign_tar_header(negative);
  EXPECT_EQ(get_error([&] { get_members(negative); }), "a.tar: byte 0: its size is not a number");
  std::string huge = tar_member("a", "");
  huge.replace(124, 12, "\x80" + std::string(11, '\x7f'));
  sign_tar_header(huge);
  EXPECT_EQ(get_error([&] { get_members(huge); }), "a.tar: byte 0: its size is not a number");
  EXPECT_NE(get_error([&] { get_members(tar_member("a", "", {.type = 'S'})); }).find("sparse"), std::string::npos);
  for (const std::string records :
       {"99 path=x\n", "x", "5 a=b", "0 a=\n", "18446744073709551616 a=b\n", "13 size=oops\n"}) {
    EXPECT_THROW(get_members(tar_member("p", records, {.type = 'x'}) + tar_member("a", "") + tar_end()), Error)
        << records;
  }
}

TEST(WebDataset, MakesSamplesOfMembersWithOneKey) {
  EXPECT_EQ(get_samples(image_member("x/0.jpg") + tar_member("x/0.cls", "7\n") + tar_member("x/1.CLS", "8") +
                        image_member("x/1.JPEG") + tar_member("x/1.seg.png", "mask") + tar_end()),
            (std::vector<std::string>{"x/0.jpg=7", "x/1.JPEG=8"}));
  EXPECT_EQ(get_samples(image_member("a.png") + tar_member("a.json", R"({"label": 3, "width": 5})") +
                        image_member("b.jpg") + tar_member("b.json", R"({"label": "cat"})") + image_member("c.jpg") +
                        tar_member("c.txt", " dog \n") + tar_end()),
            (std::vector<std::string>{"a.png=3", "b.jpg=cat", "c.jpg=dog"}));
  // .cls before .json's label before .txt, which may be a caption
  EXPECT_EQ(get_samples(tar_member("a.txt", "a cat") + tar_member("a.json", R"({"label": 2})") +
                        tar_member("a.cls", "1") + image_member("a.jpg") + tar_end()),
            std::vector<std::string>{"a.jpg=1"});
  EXPECT_EQ(
      get_samples(tar_member("x/", "", {.type = '5'}) + tar_member("README.md", "hello") +
                  tar_member("._0.jpg", "mac") + image_member("x/0.jpg") + tar_member("x/0.cls", "7") + tar_end()),
      std::vector<std::string>{"x/0.jpg=7"});
}

TEST(WebDataset, TakesTheOnlyImageAndLabelOfOtherNames) {
  EXPECT_EQ(get_samples(image_member("0.image.jpg") + tar_member("0.label.cls", "3") + image_member("1.jpg") +
                        tar_member("1.label.cls", "4") + tar_end()),
            (std::vector<std::string>{"0.image.jpg=3", "1.jpg=4"}));
  EXPECT_EQ(get_samples(image_member("photo.001.jpg") + tar_member("photo.001.cls", "1") +
                        image_member("photo.002.jpg") + tar_member("photo.002.cls", "2") + tar_end()),
            (std::vector<std::string>{"photo.001.jpg=1", "photo.002.jpg=2"}));
  EXPECT_NE(tar_refusal(image_member("0.left.jpg") + image_member("0.right.jpg") + tar_member("0.cls", "1") + tar_end())
                .find("sample \"0\" has 2 images (.left.jpg, .right.jpg); expected one"),
            std::string::npos);
  EXPECT_NE(tar_refusal(image_member("0.jpg") + tar_member("0.a.cls", "1") + tar_member("0.b.cls", "2") + tar_end())
                .find("has .a.cls and .b.cls: which is its class?"),
            std::string::npos);
}

TEST(WebDataset, RefusesWhatIsNoSample) {
  const std::string sample = image_member("x/0.jpg") + tar_member("x/0.cls", "7");
  EXPECT_EQ(
      tar_refusal(sample + image_member("x/1.jpg") + tar_end()),
      "a.tar: byte 2048: sample \"x/1\" has no class (.cls, .json with a label, or .txt, directly after its image)");
  EXPECT_EQ(tar_refusal(tar_member("x/1.cls", "0") + sample + tar_end()),
            "a.tar: byte 0: sample \"x/1\" has no image (.jpg, .jpeg, .jfif, .png, .webp or .bmp directly after its "
            "other members)");
  EXPECT_NE(tar_refusal(image_member("0.jpg") + image_member("0.png") + tar_end()).find("is a second image"),
            std::string::npos);
  EXPECT_NE(tar_refusal(tar_member("0.jpg", "") + tar_end()).find("an empty image"), std::string::npos);
  EXPECT_NE(tar_refusal(tar_member("0.jpg", "", {.type = '1'}) + tar_end()).find("--dereference"), std::string::npos);
  EXPECT_NE(tar_refusal(image_member("0.jpg") + tar_member("0.json", "[1]") + tar_end()).find("not a JSON object"),
            std::string::npos);
  EXPECT_NE(tar_refusal(image_member("0.jpg") + tar_member("0.json", R"({"label": [1]})") + tar_end())
                .find("neither text nor a number"),
            std::string::npos);
  EXPECT_NE(tar_refusal(image_member("0.jpg") + tar_member("0.json", R"({"a": 1})") + tar_end()).find("has no class"),
            std::string::npos);
  EXPECT_NE(tar_refusal(image_member("0.jpg") + tar_member("0.cls", "\xff") + tar_end()).find("not UTF-8"),
            std::string::npos);
  EXPECT_NE(tar_refusal(image_member("0.jpg") + tar_member("0.cls", std::string(5000, '1')) + tar_end())
                .find("label of 5000 bytes"),
            std::string::npos);
}

}  // namespace
}  // namespace ptrain
