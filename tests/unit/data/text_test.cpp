// Text tables, their columns, and the text data set.
#include "core/data/factory.h"
#include "core/data/matched_classes.h"
#include "core/data/tensor_names.h"
#include "core/data/text/label_classes.h"
#include "core/data/text/text_table.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"
#include "tests/unit/data/test_files.h"

#include <gtest/gtest.h>

#include <sstream>

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

TEST(TextTable, RefusesColumnsOfOneName) {
  const auto error = [](const std::string& text) { return get_error([&] { tsv(text); }); };
  EXPECT_EQ(error("text\ttext\tlabel\na\tb\t1\n"),
            "t.tsv: several columns are called \"text\"; rename those that are not meant");
  EXPECT_NE(error("text\tlabel\tlabel\na\t0\t1\n").find("several columns are called \"label\""), std::string::npos);
  expect_row(tsv("id\tid\ttext\tlabel\n1\t2\ta\t1\n"), 0, "a", "", "1");  // those that are not read may
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
    return parse_text_table(text, "t.tsv", TableForm::tsv,
                            {.labels = TableLabels::optional, .columns = {.first = column}});
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
    return parse_text_table(text, "t.csv", TableForm::csv, {.columns = columns});
  };
  const std::string text = "id,评论,类别,text,label\n7,很好,正,other,0\n";
  const TextTable named = read(text, {"评论", "", "类别"});
  expect_row(named, 0, "很好", "", "正");
  EXPECT_FALSE(named.has_second);
  expect_row(read(text, {"评论", "text", ""}), 0, "很好", "other", "0");  // the label by its default name
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

TEST(TextTable, UndoesQuotesThatAWriterOfCsvPutIntoTsv) {
  const TextTable minimal = tsv("sentence\tlabel\n\"the \"\"film\"\"\"\t1\n\"so\" it goes\t0\n\"plain\"\t0\n");
  expect_row(minimal, 0, "the \"film\"", "", "1");
  expect_row(minimal, 1, "\"so\" it goes", "", "0");
  expect_row(minimal, 2, "\"plain\"", "", "0");  // as in GLUE: nothing says that it was quoted
  EXPECT_EQ(minimal.notes, std::vector<std::string>{"t.tsv: 1 fields are quoted as in CSV; their quotes are undone"});
  expect_row(tsv("\"sentence\"\t\"label\"\n\"plain\"\t\"0\"\n"), 0, "plain", "", "0");
  const TextTable spread = tsv("sentence\tlabel\n\"a\tb\"\t1\n\"c\nd\"\t0\ne\t0\n");
  expect_row(spread, 0, "a\tb", "", "1");
  expect_row(spread, 1, "c\nd", "", "0");
  EXPECT_EQ(spread.rows[2].line, 5);
  EXPECT_EQ(get_error_message([] { tsv("sentence\tlabel\n\"a\n\"b\t1\n"); }), "t.tsv:2: expected 2 columns, got 1");
}

TEST(TextTable, ReadsOtherSeparatorsThanCommas) {
  for (const std::string by : {";", "\t", "|"}) {
    expect_row(csv("text" + by + "label\ngood, so" + by + "1\n\"a" + by + "b\"" + by + "0\n"), 1, "a" + by + "b", "",
               "0");
  }
  EXPECT_EQ(csv("text;label\ngood;1\nbad;0\n").notes,
            std::vector<std::string>{"t.csv: its fields are separated by semicolons, not by commas"});
  expect_row(csv("text,label\na;b,1\nc;d,0\n"), 1, "c;d", "", "0");
}

TEST(TextTable, TakesTheSeparatorThatExcelsFirstLineDeclares) {
  for (const std::string by : {",", ";", "\t", "|"}) {
    for (const std::string end : {"\n", "\r\n"}) {
      const std::string rows = "text" + by + "label" + end + "good" + by + "1" + end + "bad" + by + "0" + end;
      const TextTable table = csv("\xef\xbb\xbfsep=" + by + end + rows);
      expect_row(table, 1, "bad", "", "0");
      EXPECT_EQ(table.rows[0].line, 3);
    }
  }
  expect_row(csv("sep=;\ntext;label\na,b;1\n"), 0, "a,b", "", "1");  // one row, which shows no separator
  EXPECT_EQ(get_error_message([] { csv("sep=;\ntext;label\na;b;1\n"); }), "t.csv:3: expected 2 columns, got 3");
  expect_row(csv("sep=x,label\n,1\n"), 0, "sep=x", "", "label");
}

TEST(TextTable, LeavesOutAColumnThatCountsTheRows) {
  std::string rows, pairs, shuffled;
  for (const int i : {0, 1, 2, 3, 4, 5}) {
    rows += fmt::format("{},text {},{}\n", i, i, i % 2 == 0 ? "neg" : "pos");
    pairs += fmt::format("{},text {},other,{}\n", i + 1, i, i % 2);
    shuffled += fmt::format("{},text {},{}\n", 7 * i % 11, i, i % 2 == 0 ? "neg" : "pos");
  }
  const TextTable table = csv(rows);
  expect_row(table, 1, "text 1", "", "pos");
  EXPECT_EQ(table.notes,
            std::vector<std::string>{"t.csv: has no header; column 2 is taken for the text, 3 for the label, "
                                     "the first counts the rows"});
  expect_row(csv(pairs), 1, "text 1", "other", "1");
  EXPECT_EQ(csv(shuffled).notes,
            std::vector<std::string>{"t.csv: has no header; column 2 is taken for the text, 3 for the "
                                     "second sentence, 1 for the label"});
  expect_row(csv(",text,label\n0,a,1\n"), 0, "a", "", "1");
  EXPECT_EQ(get_error_message([] { csv("Unnamed: 0,comment,verdict\n0,a,1\n"); }),
            "t.csv: cannot determine which columns have text and label, name them in data.columns; its columns are "
            "\"Unnamed: 0\", \"comment\", \"verdict\"");
}

TEST(TextTable, NotesWhatIsEmptyOrHasBlanks) {
  const TextTable table = csv("text,label\nnan,1\n\ngood, 0\n,1\n");
  expect_row(table, 1, "good", "", "0");
  EXPECT_EQ(table.notes, (std::vector<std::string>{
                             "t.csv: 1 empty lines are left out (first: line 3)",
                             "t.csv: 2 of 3 rows have an empty text, or nan, null or the like for one (first: line 2)",
                             "t.csv: 1 of 3 labels have blanks around them, which are left out (first: line 4)"}));
}

TEST(TextTable, LeavesOutHeadersThatJoinedFilesRepeat) {
  const TextTable table = csv("text,label\ngood,1\ntext,label\nbad,0\n\xef\xbb\xbftext,label\nso,1\n");
  ASSERT_EQ(table.rows.size(), 3u);
  expect_row(table, 2, "so", "", "1");
  EXPECT_EQ(table.notes, std::vector<std::string>{"t.csv: 2 lines repeating the header left out (first: line 3)"});
  EXPECT_TRUE(get_error_message([] {
                csv("text,label\ngood,1\nlabel,text\n0,bad\n");
              }).starts_with("t.csv:3: a second header, whose columns have another order than the first one's"));
}

TEST(TextTable, SaysWhichOfManyColumnsItTakes) {
  EXPECT_EQ(csv("id,question,answer,label\n7,a,b,0\n").notes,
            std::vector<std::string>{"t.csv: column \"question\" is taken for the text, \"answer\" for the second "
                                     "sentence, \"label\" for the label; data.columns names others"});
  const auto read = [](const ColumnNames& columns) {
    return parse_text_table("question,answer,label\na,b,0\n", "t.csv", TableForm::csv, {.columns = columns}).notes;
  };
  EXPECT_EQ(read({"question", "answer", "label"}), std::vector<std::string>{});
  EXPECT_EQ(csv("text,label\na,0\n").notes, std::vector<std::string>{});
}

TEST(TextTable, PrefersTheColumnsThatAModelLearnedFrom) {
  const auto read = [](const std::string& text, const ColumnNames& columns = {}) {
    return parse_text_table(text, "t.csv", TableForm::csv,
                            {.labels = TableLabels::optional, .columns = columns, .learned = {"q", "a", "verdict"}});
  };
  const std::string text = "text,label,q,a,verdict\nx,y,first,second,good\n";
  expect_row(read(text), 0, "first", "second", "good");
  expect_row(read(text, {.first = "q"}), 0, "first", "second", "good");
  expect_row(read(text, {.first = "text", .label = "label"}), 0, "x", "second", "y");
  expect_row(read("text,label\nx,y\n"), 0, "x", "", "y");
  EXPECT_FALSE(read("text,label\nx,y\n").has_second);
}

TEST(LabelClasses, AreTheValuesThatOccur) {
  const auto classes = [](const std::string& labels) {
    std::istringstream words(labels);
    std::string rows = "label\ttext\n";
    for (std::string label; words >> label;) rows += label + "\ta\n";
    return collect_classes(tsv(rows)).names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(classes("0 1 0"), (Names{"0", "1"}));
  EXPECT_EQ(classes("5 4 3 2 1 1"), (Names{"1", "2", "3", "4", "5"}));
  EXPECT_EQ(classes("10 9 2"), (Names{"2", "9", "10"}));
  EXPECT_EQ(classes("1 -1 0.5"), (Names{"-1", "0.5", "1"}));
  EXPECT_EQ(classes("0 0.0 -0 1e0 01"), (Names{"0", "1"}));
  EXPECT_EQ(classes("10 b 9"), (Names{"10", "9", "b"}));
  EXPECT_EQ(classes("123456789012345678 123456789012345679"), (Names{"123456789012345678", "123456789012345679"}));
  const auto note = [](const std::string& rows) {
    const LabelClasses found = collect_classes(tsv("label\ttext\n" + rows));
    return found.notes.empty() ? std::string{} : found.notes.back();
  };
  EXPECT_EQ(note("0\ta\n1\ta\n"), "");
  EXPECT_EQ(note("0\ta\n5\ta\n"), "t.tsv: its labels are 2 numbers, each a class: 0, 5");
  EXPECT_EQ(note("0\ta\n1\ta\n0.0\ta\n"), "t.tsv: labels of one value are one class: \"0\", \"0.0\"");
  EXPECT_EQ(
      note("good\ta\nGood\ta\n"),
      "t.tsv: classes of their own, although they differ only in case, blanks or the form of letters, or as true and "
      "1 do: \"Good\", \"good\"");
  EXPECT_TRUE(note("1\ta\ntrue\ta\nfalse\ta\n").ends_with("as true and 1 do: \"1\", \"true\""));
  std::string different;
  for (int i = 0; i < 8; ++i) different += fmt::format("{}\ttext\n", 3 * i);
  EXPECT_NE(get_error_message([&] { note(different); }).find("they are no classes; name the columns"),
            std::string::npos);
}

TEST(TextTable, ReadsJsonLines) {
  const auto read = [](const std::string& text, const ColumnNames& columns = {},
                       TableLabels labels = TableLabels::required) {
    return parse_text_table(text, "t.jsonl", TableForm::jsonl, {.labels = labels, .columns = columns});
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
  EXPECT_EQ(detect_table_form("b.ndjson"), TableForm::jsonl);
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
  EXPECT_TRUE(
      error(Split::eval)
          .ends_with(
              "dev.tsv:1: label \"0\" is none of the training split's 2 classes (no, yes); data.labels can name more"));
}

TEST_F(TextFiles, FindClassesOfNumbersByValueInBothSplits) {
  directory_.write("train.tsv", std::string("a\t-1\nb\t1.0\na\t1\n"));
  directory_.write("dev.tsv", std::string("a\t1.00\n"));
  EXPECT_EQ(open_dataset(settings_, Split::train)->info().class_names, (std::vector<std::string>{"-1", "1"}));
  EXPECT_EQ(open_dataset(settings_, Split::eval)->label(0), 1);
  directory_.write("train.tsv", std::string("a\t1\nb\t3\n"));
  settings_.classes = 4;  // then all numbers below it are classes
  EXPECT_EQ(open_dataset(settings_, Split::train)->info().class_names, (std::vector<std::string>{"0", "1", "2", "3"}));
  EXPECT_EQ(open_dataset(settings_, Split::train)->label(1), 3);
  settings_.classes = 3;
  EXPECT_NE(error(Split::train).find("has 2 classes (1, 3), but model.classes is 3"), std::string::npos);
}

TEST_F(TextFiles, AreOfPairsInBothSplitsOrInNone) {
  directory_.write("train.tsv", std::string("good\tbad\tyes\nbad\tgood\tno\n"));
  directory_.write("dev.tsv", std::string("bad\tyes\n"));
  EXPECT_NE(error(Split::eval).find("dev.tsv: its rows have one sentence, those of "), std::string::npos);
}

TEST_F(TextFiles, HaveTheirClassesMatchedByName) {
  directory_.write("train.tsv", std::string("good\tyes\nbad\tno\n"));
  const auto match = [&](const std::vector<std::string>& names) {
    return match_classes(open_dataset(settings_, Split::train), names, "m/model.json");
  };
  const auto matched = match({"yes", "maybe", "no"});
  EXPECT_EQ(matched->info().classes, 3);
  EXPECT_EQ(matched->label(1), 2);
  EXPECT_EQ(load_sample(*matched, 1, SampleRandom(0, 0, 0)).values<std::int32_t>(tensor_names::labels)[0], 2);
  EXPECT_EQ(matched->notes(),
            std::vector<std::string>{
                "m/model.json: its classes are yes, maybe, no; the data's (no, yes) are matched by name"});
  EXPECT_TRUE(match({"no", "yes"})->notes().empty());
  EXPECT_EQ(match({"bad", "good"})->label(1), 0);
  EXPECT_NE(match({"bad", "good"})->notes().at(0).find("matched by number"), std::string::npos);
  EXPECT_EQ(get_error_message([&] {
              match({"no", "nobody"});
            }),
            "m/model.json: has no class \"yes\", which the data have; its classes are no, nobody");
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
