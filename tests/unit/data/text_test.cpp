// Text tables, their columns, and the text data set.
#include "core/data/factory.h"
#include "core/data/tensor_names.h"
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
  const auto error = [](const std::string& text) { return get_error([&] { tsv(text); }); };
  EXPECT_EQ(error("sentence\tlabel\ngood\t1\nb\xff\t0\n"), "t.tsv:3: not UTF-8");
  EXPECT_EQ(error(std::string("sentence\tlabel\na\0b\t1\n", 21)), "t.tsv:2: not a text file (byte 0x00)");
  EXPECT_EQ(error("\xff\xfes"), "t.tsv:1: not UTF-8");
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
    return parse_text_table(text, "t.tsv", TableForm::tsv, TableLabels::optional, {.first = column});
  };
  expect_row(read("so good\nbad\n"), 1, "bad", "", "");
  expect_row(read("id\tsentence\n0\tgood\n"), 0, "good", "", "");
  expect_row(read("sentence\tlabel\ngood\t1\n"), 0, "good", "", "1");
  expect_row(read("sentence\tlabel\ngood\t\n"), 0, "good", "", "");
  expect_row(read("Remark\tsentence\tlabel\ngood\tother\t1\n", "Remark"), 0, "good", "", "1");
  EXPECT_EQ(get_error_message([&] { read("sentence\tlabel\ngood\t1\n", "remark"); }),
            "t.tsv: has no column \"remark\"; its columns are \"sentence\", \"label\"");
}

TEST(TextTable, ReadsQuotedCsvAndKeepsLineNumbers) {
  const TextTable table = csv("text,label\r\n\"a, \"\"b\"\"\nc\",1\r\nplain,0\r\n");
  expect_row(table, 0, "a, \"b\"\nc", "", "1");
  expect_row(table, 1, "plain", "", "0");
  EXPECT_EQ(table.rows[0].line, 2);
  EXPECT_EQ(table.rows[1].line, 4);
}

TEST(TextTable, ReadsColumnsByTheNamesGiven) {
  const auto read = [](const std::string& text, const ColumnNames& columns) {
    return parse_text_table(text, "t.csv", TableForm::csv, TableLabels::required, columns);
  };
  const std::string text = "id,评论,类别,text,label\n7,很好,正,other,0\n";
  const TextTable named = read(text, {"评论", "", "类别"});
  expect_row(named, 0, "很好", "", "正");
  EXPECT_FALSE(named.has_second);
  expect_row(read(text, {"评论", "text", ""}), 0, "很好", "other", "0");  // the label by its usual name
  expect_row(read(text, {"", "", "类别"}), 0, "other", "", "正");
  EXPECT_EQ(get_error_message([&] {
              read(text, {"评论", "", "Label"});
            }),
            "t.csv: has no column \"Label\"; its columns are \"id\", \"评论\", \"类别\", \"text\", \"label\"");
  EXPECT_EQ(get_error_message([&] {
              read("a,b\n1,2\n", {"a", "", ""});
            }),
            "t.csv: cannot determine which column has the label, name it too; its columns are \"a\", \"b\"");
  EXPECT_EQ(get_error_message([&] {
              read("a,b\n1,2\n", {"", "", "b"});
            }),
            "t.csv: cannot determine which column has the text, name it too; its columns are \"a\", \"b\"");
}

TEST(TextTable, ReadsJsonLines) {
  const auto read = [](const std::string& text, const ColumnNames& columns = {},
                       TableLabels labels = TableLabels::required) {
    return parse_text_table(text, "t.jsonl", TableForm::jsonl, labels, columns);
  };
  const TextTable table = read("{\"text\": \"a \\\"b\\\"\\n\", \"label\": 1}\r\n\n{\"label\": true, \"text\": \"\"}");
  expect_row(table, 0, "a \"b\"\n", "", "1");
  expect_row(table, 1, "", "", "true");
  EXPECT_EQ(table.rows[1].line, 3);
  expect_row(read("{\"x\": \"p\", \"y\": \"q\", \"z\": 0}\n", {"x", "y", "z"}), 0, "p", "q", "0");
  expect_row(read("{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\"}\n", {}, TableLabels::optional), 1, "b", "", "");
  const auto error = [&](const std::string& text) { return get_error_message([&] { read(text); }); };
  EXPECT_EQ(error("{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\"}\n"),
            "t.jsonl:2: has no \"label\"; its keys are \"text\"");
  EXPECT_EQ(error("{\"text\": [1], \"label\": 1}"), "t.jsonl:1: \"text\": expected a text");
  EXPECT_EQ(error("{\"text\": \"a\", \"label\": null}"), "t.jsonl:1: the label is empty");
  EXPECT_EQ(error("{\"text\": \"a\", \"label\": 1}\n{\"text\": \n"), "t.jsonl:2: expected a JSON object per line");
  EXPECT_TRUE(error("[{\"text\": \"a\"}]").starts_with("t.jsonl: is one JSON array"));
  EXPECT_EQ(error("{\"a\": 1}"),
            "t.jsonl: cannot determine which keys have text and label, name them in data.columns; its keys are \"a\"");
}

TEST(TextTable, HasItsFormByTheEnding) {
  EXPECT_EQ(detect_table_form("a/b.tsv"), TableForm::tsv);
  EXPECT_EQ(detect_table_form("b.CSV"), TableForm::csv);
  EXPECT_EQ(detect_table_form("b.jsonl"), TableForm::jsonl);
  EXPECT_EQ(detect_table_form("b.json"), TableForm::jsonl);
  EXPECT_EQ(detect_table_form("b.txt"), std::nullopt);
}

TEST(TextTable, NamesTheLineOfAWrongRow) {
  EXPECT_EQ(get_error_message([] { tsv("sentence\tlabel\na\t1\nb\n"); }), "t.tsv:3: expected 2 columns, got 1");
  EXPECT_EQ(get_error_message([] { tsv("a\t1\nb\t\n"); }), "t.tsv:2: the label is empty");
  EXPECT_TRUE(get_error_message([] { tsv("a\tb\tc\td\te\n"); }).starts_with("t.tsv:1: cannot determine the columns"));
  EXPECT_TRUE(get_error_message([] { csv("text,label\n\"open,1\n"); }).starts_with("t.csv:2: a quoted field"));
  EXPECT_TRUE(get_error_message([] { csv("text,label\n\"a\"b,1\n"); }).starts_with("t.csv:2: text after"));
  EXPECT_NE(get_error_message([] { tsv(""); }).find("no samples"), std::string::npos);
  EXPECT_NE(get_error_message([] { tsv("sentence\tlabel\n"); }).find("no samples"), std::string::npos);
}

class TextFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    settings_.source = "tsv";
    settings_.path = directory_.path().string();
    settings_.vocab_path =
        directory_.write("vocab.txt", std::string("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngood\nbad\n##ly\n"));
    settings_.max_length = 8;
  }
  std::string error(Split split) const {
    return get_error_message([&] { open_dataset(settings_, split); });
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
  using Integers = std::vector<std::int32_t>;
  const Batch sample = load_sample(*data, 0, SampleRandom(0, 0, 0));
  EXPECT_EQ(get_values<std::int32_t>(sample, tensor_names::labels), Integers{1});
  EXPECT_EQ(get_values<std::int32_t>(sample, tensor_names::ids), (Integers{2, 5, 3, 6, 7, 3, 0, 0}));
  EXPECT_EQ(get_values<std::int32_t>(sample, tensor_names::token_types), (Integers{0, 0, 0, 1, 1, 1, 0, 0}));
  EXPECT_EQ(get_values<std::int32_t>(sample, tensor_names::lengths), Integers{6});
  const Batch evaluated = load_sample(*open_dataset(settings_, Split::eval), 0, SampleRandom(0, 0, 0));
  EXPECT_EQ(get_values<std::int32_t>(evaluated, tensor_names::labels), Integers{1});
}

TEST_F(TextFiles, RefuseLabelsThatTrainingDoesNotHave) {
  directory_.write("train.tsv", std::string("a\t0\nb\t1\n"));
  directory_.write("dev.tsv", std::string("a\t0\nb\t2\n"));
  EXPECT_TRUE(error(Split::eval).ends_with("dev.tsv:2: label \"2\" is out of range, expected 0 to 1"));
  directory_.write("train.tsv", std::string("a\tyes\nb\tno\n"));
  EXPECT_TRUE(error(Split::eval).ends_with("dev.tsv:1: label \"0\" is none of the training split's 2 classes"));
}

TEST_F(TextFiles, NumberLabelsInTheOrderGiven) {
  directory_.write("train.csv", std::string("review,verdict\n\"good, badly\",negative\nbad,positive\n"));
  directory_.write("dev.json", std::string("{\"verdict\": \"mixed\", \"review\": \"bad\"}\n"));
  settings_.columns = {"review", "", "verdict"};
  settings_.labels = {"positive", "mixed", "negative"};
  const auto data = open_dataset(settings_, Split::train);
  EXPECT_EQ(data->info().class_names, settings_.labels);
  EXPECT_EQ(data->info().classes, 3);
  const auto get_label = [](const Dataset& of, std::int64_t index) {
    return load_sample(of, index, SampleRandom(0, 0, 0)).values<std::int32_t>(tensor_names::labels)[0];
  };
  EXPECT_EQ(get_label(*data, 0), 2);
  EXPECT_EQ(get_label(*data, 1), 0);
  EXPECT_EQ(get_label(*open_dataset(settings_, Split::eval), 0), 1);
  settings_.labels = {"positive", "negative"};
  EXPECT_TRUE(error(Split::eval).ends_with("dev.json:1: label \"mixed\" is none of data.labels (positive, negative)"));
  settings_.classes = 3;
  EXPECT_TRUE(
      error(Split::train).starts_with("data.labels: has 2 classes (positive, negative), but model.classes is 3"));
  settings_.columns.label = "label";
  EXPECT_TRUE(
      error(Split::train).ends_with("train.csv: has no column \"label\"; its columns are \"review\", \"verdict\""));
}

TEST_F(TextFiles, SayWhichFileIsMissingOrWrong) {
  EXPECT_TRUE(error(Split::train).ends_with("train.tsv: not found, nor with .csv, .jsonl or .json"));
  settings_.train_file = "train.parquet";
  directory_.write("train.parquet", std::string("PAR1"));
  EXPECT_TRUE(error(Split::train).find("train.parquet: Parquet is not supported; write") != std::string::npos);
  settings_.train_file = "";
  directory_.write("train.tsv", std::string("PAR1\x15\x04"));
  EXPECT_TRUE(error(Split::train).find("train.tsv: Parquet is not supported; write") != std::string::npos);
  directory_.write("train.tsv", std::string("a\t0\nb\t1\n"));
  settings_.vocab_path = directory_.write("vocab.txt", std::string("[PAD]\n[UNK]\n[CLS]\n"));
  EXPECT_TRUE(error(Split::train).ends_with("not a BERT vocabulary: it has no [SEP]"));
  settings_.vocab_path.clear();
  EXPECT_NE(error(Split::train).find("needs a vocabulary"), std::string::npos);
}

}  // namespace
}  // namespace ptrain
