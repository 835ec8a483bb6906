// Text tables, their columns, and the text data set.
#include "core/data/factory.h"
#include "core/data/text/text_table.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"
#include "tests/unit/data/test_files.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

TextTable tsv(const std::string& text) { return parse_text_table(text, "t.tsv", TableForm::tsv); }
TextTable csv(const std::string& text) { return parse_text_table(text, "t.csv", TableForm::csv); }

void expect_row(const TextTable& table, std::size_t row, const std::string& first, const std::string& second,
                const std::string& label) {
  ASSERT_LT(row, table.rows.size());
  EXPECT_EQ(table.rows[row].first, first);
  EXPECT_EQ(table.rows[row].second, second);
  EXPECT_EQ(table.rows[row].label, label);
}

TEST(TextTable, RefusesWhatIsNoText) {
  const auto error = [](const std::string& text) { return error_of([&] { tsv(text); }); };
  EXPECT_EQ(error("sentence\tlabel\ngood\t1\nb\xff\t0\n"), "t.tsv:3: not UTF-8");
  EXPECT_EQ(error(std::string("sentence\tlabel\na\0b\t1\n", 21)), "t.tsv:2: not a text file (byte 0x00)");
  EXPECT_NE(error("\xff\xfes").find("t.tsv: is UTF-16"), std::string::npos);
}

TEST(TextTable, ReadsGluesHeaders) {
  expect_row(tsv("sentence\tlabel\nso \"good\t1\n\nbad\t0"), 0, "so \"good", "", "1");
  expect_row(tsv("sentence\tlabel\r\nbad\t0\r\n"), 0, "bad", "", "0");
  expect_row(tsv("index\tsentence1\tsentence2\tlabel\n0\ta\tb\tentailment\n"), 0, "a", "b", "entailment");
  expect_row(tsv("index\tquestion\tsentence\tlabel\n0\twhy\tso\tentailment\n"), 0, "why", "so", "entailment");
  expect_row(tsv("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n9\t1\t2\ta\tb\t1\n"), 0, "a", "b", "1");
  expect_row(tsv("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\ta\tb\n"), 0, "a", "b", "1");
  expect_row(tsv("index\tsentence1\tsentence2\tlabel1\tgold_label\n0\ta\tb\tx\ty\n"), 0, "a", "b", "y");
}

TEST(TextTable, ReadsTablesWithoutAHeader) {
  expect_row(tsv("good\t1\nbad\t0\n"), 1, "bad", "", "0");
  expect_row(tsv("1\tgood\n"), 0, "good", "", "1");
  expect_row(tsv("a\tb\t1\n"), 0, "a", "b", "1");
  expect_row(tsv("gj04\t0\t*\tThey drank.\n"), 0, "They drank.", "", "0");
}

TEST(TextTable, NeedsNoLabelsWhereTheyAreOptional) {
  const auto read = [](const std::string& text, const std::string& column = {}) {
    return parse_text_table(text, "t.tsv", TableForm::tsv, TableLabels::optional, column);
  };
  expect_row(read("so good\nbad\n"), 1, "bad", "", "");
  expect_row(read("id\tsentence\n0\tgood\n"), 0, "good", "", "");
  expect_row(read("sentence\tlabel\ngood\t1\n"), 0, "good", "", "1");
  expect_row(read("sentence\tlabel\ngood\t\n"), 0, "good", "", "");
  expect_row(read("Remark\tsentence\tlabel\ngood\tother\t1\n", "Remark"), 0, "good", "", "1");
  EXPECT_EQ(message_of([&] { read("sentence\tlabel\ngood\t1\n", "remark"); }),
            "t.tsv: its first row names no column \"remark\"");
}

TEST(TextTable, ReadsQuotedCsvAndKeepsLineNumbers) {
  const TextTable table = csv("text,label\r\n\"a, \"\"b\"\"\nc\",1\r\nplain,0\r\n");
  expect_row(table, 0, "a, \"b\"\nc", "", "1");
  expect_row(table, 1, "plain", "", "0");
  EXPECT_EQ(table.rows[0].line, 2);
  EXPECT_EQ(table.rows[1].line, 4);
}

TEST(TextTable, NamesTheLineOfAWrongRow) {
  EXPECT_EQ(message_of([] { tsv("sentence\tlabel\na\t1\nb\n"); }), "t.tsv:3: expected 2 columns, got 1");
  EXPECT_EQ(message_of([] { tsv("a\t1\nb\t\n"); }), "t.tsv:2: the label is empty");
  EXPECT_TRUE(message_of([] { tsv("a\tb\tc\td\te\n"); }).starts_with("t.tsv:1: cannot tell the columns"));
  EXPECT_TRUE(message_of([] { csv("text,label\n\"open,1\n"); }).starts_with("t.csv:2: a quoted field"));
  EXPECT_TRUE(message_of([] { csv("text,label\n\"a\"b,1\n"); }).starts_with("t.csv:2: text after"));
  EXPECT_NE(message_of([] { tsv(""); }).find("no samples"), std::string::npos);
  EXPECT_NE(message_of([] { tsv("sentence\tlabel\n"); }).find("no samples"), std::string::npos);
}

class TextFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    settings_.source = DataSource::tsv;
    settings_.path = directory_.path().string();
    settings_.vocab_path =
        directory_.write("vocab.txt", std::string("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngood\nbad\n##ly\n"));
    settings_.max_length = 8;
  }
  std::string error(Split split) const {
    return message_of([&] { open_dataset(settings_, split); });
  }
  TemporaryDirectory directory_;
  DataSettings settings_;
};

TEST_F(TextFiles, GiveIdsTypesLengthAndLabel) {
  directory_.write("train.tsv", std::string("Good\tbadly\tyes\nbad\tgood\tno\n"));
  directory_.write("dev.tsv", std::string("bad\tbad\tyes\n"));
  const auto data = open_dataset(settings_, Split::train);
  EXPECT_EQ(data->info().class_names, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(data->info().vocab_size, 8);
  std::vector<std::int32_t> ids(8), types(8);
  std::int32_t length = 0;
  Scratch scratch;
  EXPECT_EQ(data->load(0, SampleRandom(0, 0, 0), scratch, {{}, ids, types, &length}), 1);
  EXPECT_EQ(ids, (std::vector<std::int32_t>{2, 5, 3, 6, 7, 3, 0, 0}));
  EXPECT_EQ(types, (std::vector<std::int32_t>{0, 0, 0, 1, 1, 1, 0, 0}));
  EXPECT_EQ(length, 6);
  EXPECT_EQ(open_dataset(settings_, Split::eval)->load(0, SampleRandom(0, 0, 0), scratch, {{}, ids, types, &length}),
            1);
}

TEST_F(TextFiles, RefuseLabelsThatTrainingDoesNotHave) {
  directory_.write("train.tsv", std::string("a\t0\nb\t1\n"));
  directory_.write("dev.tsv", std::string("a\t0\nb\t2\n"));
  EXPECT_TRUE(error(Split::eval).ends_with("dev.tsv:2: label \"2\" is out of range, expected 0 to 1"));
  directory_.write("train.tsv", std::string("a\tyes\nb\tno\n"));
  EXPECT_TRUE(error(Split::eval).ends_with("dev.tsv:1: label \"0\" is none of the training split's 2 classes"));
}

TEST_F(TextFiles, SayWhichFileIsMissingOrWrong) {
  EXPECT_TRUE(error(Split::train).ends_with("train.tsv: not found, nor train.csv"));
  directory_.write("train.tsv", std::string("a\t0\nb\t1\n"));
  settings_.vocab_path = directory_.write("vocab.txt", std::string("[PAD]\n[UNK]\n[CLS]\n"));
  EXPECT_TRUE(error(Split::train).ends_with("not a BERT vocabulary: it has no [SEP]"));
  settings_.vocab_path.clear();
  EXPECT_NE(error(Split::train).find("needs a vocabulary"), std::string::npos);
}

}  // namespace
}  // namespace ptrain
