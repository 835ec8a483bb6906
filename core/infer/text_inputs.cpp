// Tables, files of sentences and sentences, tokenised as the training's texts were.
#include "core/data/text/text_encoding.h"
#include "core/data/text/text_table.h"
#include "core/infer/input_sources.h"
#include "core/infer/text_encoder.h"
#include "core/io/atomic_file.h"

namespace ptrain {
namespace {

namespace fs = std::filesystem;

struct Text {
  Sentences sentences;
  std::int32_t truth = no_truth;
  float value = std::numeric_limits<float>::quiet_NaN();
};

class TextInputs final : public InputSet {
 public:
  TextInputs(const TrainedModel& model, const std::vector<std::string>& arguments, const InputOptions& options)
      : encoder_(model) {
    info_ = model.data;
    for (const std::string& argument : arguments) add(argument, options);
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(texts_.size()); }
  const std::string& name(std::int64_t index) const override { return text(index).sentences.first; }
  std::int32_t truth(std::int64_t index) const override { return text(index).truth; }

  float value(std::int64_t index) const override { return text(index).value; }

  std::int32_t load(std::int64_t index, SampleRandom, Scratch& scratch, const SampleView& out) const override {
    *out.length = encoder_.encode(text(index).sentences, scratch, out.ids, out.token_types);
    return 0;
  }

 private:
  const Text& text(std::int64_t index) const { return texts_[static_cast<std::size_t>(index)]; }

  void add(const std::string& argument, const InputOptions& options) {
    if (argument == "-") {
      add_lines(read_standard_input(), "standard input");
    } else if (table_form_of(argument)) {
      add_table(argument, options);
    } else if (fs::path(argument).extension() == ".txt") {
      DecodedText file = decode_text(read_file(argument), argument, TextEncoding::automatic);
      add_note(std::move(file.note));
      add_lines(file.text, argument);
    } else {
      std::error_code error;
      if (fs::exists(argument, error)) {
        fail("{}: expected a .tsv, .csv, .jsonl, .json or .txt file, a sentence, or - for standard input", argument);
      }
      add_lines(argument, "the command line");
    }
  }

  void add_lines(std::string_view content, const std::string& name) {
    for (const InputLine& line : lines_of(content, name)) texts_.push_back({sentences_of(line.text)});
  }

  void add_table(const std::string& path, const InputOptions& options) {
    TextTable table = read_text_table(
        path, {.labels = TableLabels::optional, .columns = {.first = options.column, .label = options.label_column}});
    add_note(std::move(table.note));
    for (TextRow& row : table.rows) {
      if (info_.head == Head::regression) {
        Text& added = texts_.emplace_back(Text{{std::move(row.first), std::move(row.second)}});
        if (!row.label.empty()) added.value = value_of(row.label, path, row.line);
        continue;
      }
      const std::int32_t truth = row.label.empty() ? no_truth : class_of(info_, row.label);
      if (!row.label.empty() && truth == no_truth) {
        fail("{}:{}: label \"{}\" is none of the model's {} classes", path, row.line, row.label, info_.classes);
      }
      texts_.push_back({{std::move(row.first), std::move(row.second)}, truth});
    }
  }

  void add_note(std::string note) {
    if (!note.empty()) notes_.push_back(std::move(note));
  }

  TextEncoder encoder_;
  std::vector<Text> texts_;
};

}  // namespace

std::unique_ptr<InputSet> open_text_inputs(const TrainedModel& model, const std::vector<std::string>& arguments,
                                           const InputOptions& options) {
  return std::make_unique<TextInputs>(model, arguments, options);
}

}  // namespace ptrain
