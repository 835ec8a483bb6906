// What text files are taken for by their bytes.
#include "core/data/factory.h"
#include "core/data/text/text_encoding.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"
#include "tests/unit/data/test_files.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

DecodedText automatic(const std::string& bytes) { return decode_text(bytes, "t.csv", TextEncoding::automatic); }
std::string refused(const std::string& bytes, TextEncoding encoding = TextEncoding::automatic) {
  return get_error_message([&] { decode_text(bytes, "t.csv", encoding); });
}

const std::string chinese = "这部电影很好看，演员也不错。";
const std::string chinese_gbk =
    "\xd5\xe2\xb2\xbf\xb5\xe7\xd3\xb0\xba\xdc\xba\xc3\xbf\xb4\xa3\xac\xd1\xdd\xd4\xb1\xd2\xb2\xb2\xbb\xb4\xed\xa1\xa3";
const std::string russian = "Это очень хороший фильм";

TEST(TextEncoding, LeavesUtf8AsItIs) {
  for (const std::string& text : {std::string("plain\n"), chinese, russian, std::string()}) {
    EXPECT_EQ(automatic(text).text, text);
    EXPECT_EQ(automatic(text).note, "");
  }
}

TEST(TextEncoding, RefusesLinesThatEndInCarriageReturnsAlone) {
  EXPECT_EQ(get_error([] { automatic("text\tlabel\rgood\t1\r"); }),
            "t.csv: lines end in carriage returns only; expected line feeds (tr '\\r' '\\n')");
  EXPECT_EQ(automatic("one line\r").text, "one line\r");
}

TEST(TextEncoding, RecognisesGb18030) {
  const DecodedText found = automatic("text,label\n" + chinese_gbk + ",1\n");
  EXPECT_EQ(found.text, "text,label\n" + chinese + ",1\n");
  EXPECT_EQ(found.note, "t.csv: is not UTF-8, read as gb18030 (data.encoding overrides this)");
  EXPECT_EQ(decode_text("\xfe\x9f\x95\x34\xb2\x35", "t.csv", TextEncoding::gb18030).text, "䶮𠮷");  // beyond GBK
  EXPECT_EQ(decode_text(chinese_gbk, "t.csv", TextEncoding::gb18030).note, "");                     // it was asked for
}

TEST(TextEncoding, RecognisesUtf16ByItsMark) {
  const std::string little(
      "\xff\xfe\x74\x00\x65\x00\x78\x00\x74\x00\x09\x00\x6c\x00\x61\x00\x62\x00\x65\x00\x6c\x00\x0a\x00\x7d\x59\x09\x00"
      "\x31\x00\x0a\x00",
      32);
  EXPECT_EQ(automatic(little).text, "text\tlabel\n好\t1\n");
  EXPECT_EQ(automatic(little).note, "t.csv: is not UTF-8, read as utf-16 (data.encoding overrides this)");
  const std::string big("\xfe\xff\x59\x7d\0a", 6);
  EXPECT_EQ(automatic(big).text, "好a");
  EXPECT_EQ(refused(little.substr(0, 9)), "t.csv:1: not utf-16, which its byte order mark says it is");
}

TEST(TextEncoding, RefusesByLineWhatItDoesNotRecognise) {
  EXPECT_TRUE(
      refused("a\n\x4c\x65\x20\x72\xe9\x61\x6c\x69\x73\x61\x74\x65\x75\x72\x20\xe9\x74\x61\x69\x74\x20\x70\x72\xe9\x73"
              "\x65\x6e\x74\x20\xe0\x20\x6c\x61\x20\x70\x72\x65\x6d\x69\xe8\x72\x65\x2c\x20\x6f\xf9\x20\x6c\x27\xe9\x74"
              "\xe9\x20\x64\xe9\x63\x65\x76\x61\x69\x74\x3a\x20\xab\x64\xe9\x6a\xe0\x20\x76\x75\xbb\x2e")
          .starts_with("t.csv:2: neither UTF-8 nor GB18030; set data.encoding"));
  // Valid GB18030 by chance: each accented letter pairs with the letter after it.
  EXPECT_TRUE(refused("\x72\xe9\x61\x6c\x69\x73\x61\x74\x65\x75\x72\x20\xe9\x74\x61\x69\x74")
                  .starts_with("t.csv:1: neither UTF-8 nor GB18030"));
  // UTF-8 with one wrong byte is damaged, not Chinese.
  EXPECT_EQ(refused(chinese + "\n" + russian + "\n\xd0\n"), "t.csv:3: not UTF-8, unlike the text around it");
}

TEST(TextEncoding, IsWhatTheKeySays) {
  EXPECT_EQ(decode_text("caf\xe9", "t.csv", TextEncoding::windows1252).text, "café");
  EXPECT_EQ(decode_text("\xb3\x6f\xb3\xa1\xb9\x71\xbc\x76\xab\xdc\xa6\x6e\xac\xdd", "t.csv", TextEncoding::big5).text,
            "這部電影很好看");
  EXPECT_EQ(decode_text("caf\xe9", "t.csv", TextEncoding::utf8).text, "caf\xe9");  // the table's reader names the line
  EXPECT_EQ(refused("a\nb\xff", TextEncoding::gb18030), "t.csv:2: not gb18030, which data.encoding says it is");
}

TEST(UnknownTokens, AreCountedOverTheTrainingText) {
  TemporaryDirectory directory;
  DataSettings settings;
  settings.source = "tsv";
  settings.path = directory.path().string();
  settings.vocab_path = directory.write("vocab.txt", std::string("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngood\n好\n"));
  directory.write("train.csv", "text,label\ngood film,0\n\xba\xc3\xbf\xb4,1\n" + chinese_gbk + ",1\n");
  const auto data = open_dataset(settings, Split::train);
  const std::optional<TokenCount> count = data->count_unknown();
  ASSERT_TRUE(count.has_value());
  EXPECT_EQ(count->tokens, 2 + 2 + 14);
  EXPECT_EQ(count->unknown, 1 + 1 + 13);
  ASSERT_EQ(data->notes().size(), 1u);
  EXPECT_TRUE(data->notes()[0].ends_with("train.csv: is not UTF-8, read as gb18030 (data.encoding overrides this)"));
  EXPECT_FALSE(open_dataset({.source = "synthetic"}, Split::train)->count_unknown().has_value());
}

}  // namespace
}  // namespace ptrain
