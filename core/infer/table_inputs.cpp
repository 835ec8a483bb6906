// Reads lines of click logs, with or without a leading label.
#include "core/data/table/criteo_line.h"
#include "core/data/tensor_names.h"
#include "core/infer/inference_sources.h"
#include "core/io/atomic_file.h"
#include "core/io/gzip.h"

namespace ptrain {
namespace {

class TableInputs final : public InferenceDataset {
 public:
  TableInputs(const ModelArtifact& model, const std::vector<std::string>& arguments) {
    info_ = model.data;
    for (const std::string& argument : arguments) add(argument);
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(rows_.size()); }
  const std::string& name(std::int64_t index) const override { return row(index).name; }
  std::int32_t label(std::int64_t index) const override { return row(index).label; }

  void load(std::int64_t index, SampleRandom, Scratch&, const SampleRow& out) const override {
    const Row& one = row(index);
    std::ranges::copy(one.numbers, out.at<float>(tensor_names::dense_features).begin());
    std::ranges::copy(one.categories, out.at<std::int32_t>(tensor_names::categorical_features).begin());
    out.set(tensor_names::labels, one.label);
  }

 private:
  struct Row {
    std::string name;
    std::array<float, criteo_dense_features> numbers;
    std::array<std::int32_t, criteo_categorical_features> categories;
    std::int32_t label = no_label;
  };

  const Row& row(std::int64_t index) const { return rows_[static_cast<std::size_t>(index)]; }

  void add(const std::string& argument) {
    const std::string file = argument == "-" ? "standard input" : argument;
    const std::string text = argument == "-" ? read_standard_input() : read_unpacked_file(argument);
    for (const InputLine& line : split_lines(text, file)) {
      Row& added = rows_.emplace_back();
      added.name = fmt::format("{}:{}", file, line.number);
      added.label =
          parse_criteo_question(line.text, {file, line.number}, info_.hash_buckets, added.numbers, added.categories)
              .value_or(no_label);
    }
  }

  std::vector<Row> rows_;
};

}  // namespace

std::unique_ptr<InferenceDataset> open_table_inputs(const ModelArtifact& model,
                                                    const std::vector<std::string>& arguments) {
  return std::make_unique<TableInputs>(model, arguments);
}

}  // namespace ptrain
