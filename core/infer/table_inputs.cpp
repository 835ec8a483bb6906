// Reads lines of click logs, with or without a leading label.
#include "core/data/table/criteo_line.h"
#include "core/data/table/slots_line.h"
#include "core/data/tensor_names.h"
#include "core/infer/inference_sources.h"
#include "core/io/atomic_file.h"
#include "core/io/packed_file.h"

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
    if (!one.numbers.empty()) {
      std::ranges::copy(one.numbers, out.at<float>(tensor_names::dense_features).begin());
    }
    if (info_.dynamic_table) {
      std::ranges::copy(one.keys, out.at<std::int64_t>(tensor_names::categorical_features).begin());
    } else {
      std::ranges::copy(one.rows, out.at<std::int32_t>(tensor_names::categorical_features).begin());
    }
    out.set(tensor_names::labels, one.label);
  }

 private:
  struct Row {
    std::string name;
    std::vector<float> numbers;
    std::vector<std::int32_t> rows;  // of categories, or their keys
    std::vector<std::int64_t> keys;
    std::int32_t label = no_label;
  };

  const Row& row(std::int64_t index) const { return rows_[static_cast<std::size_t>(index)]; }

  void add(const std::string& argument) {
    const std::string file = argument == "-" ? "standard input" : argument;
    const std::string text = argument == "-" ? read_standard_input() : read_unpacked_file(argument);
    for (const InputLine& line : split_lines(text, file)) {
      Row& added = rows_.emplace_back();
      added.name = fmt::format("{}:{}", file, line.number);
      added.numbers.resize(static_cast<std::size_t>(info_.dense_features));
      const LinePlace place{file, line.number};
      const std::size_t ids = count_ids(info_);
      if (info_.dynamic_table) {
        added.keys.resize(ids);
        added.label = parse(line.text, place, added.numbers, CategoryIds(added.keys)).value_or(no_label);
      } else {
        added.rows.resize(ids);
        added.label = parse(line.text, place, added.numbers, {added.rows, info_.hash_buckets}).value_or(no_label);
      }
    }
  }

  std::optional<std::int32_t> parse(std::string_view line, const LinePlace& place, std::span<float> numbers,
                                    const CategoryIds& ids) const {
    if (info_.bag_size > 0) return parse_slots_question(line, place, info_, numbers, ids);
    return parse_criteo_question(line, place, numbers, ids);
  }

  std::vector<Row> rows_;
};

}  // namespace

std::unique_ptr<InferenceDataset> open_table_inputs(const ModelArtifact& model,
                                                    const std::vector<std::string>& arguments) {
  return std::make_unique<TableInputs>(model, arguments);
}

}  // namespace ptrain
