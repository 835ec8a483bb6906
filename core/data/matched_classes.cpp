#include "core/data/matched_classes.h"

#include "core/data/factory.h"
#include "core/data/sources.h"
#include "core/data/text/label_classes.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <numeric>

namespace ptrain {
namespace {

class MatchedClasses final : public Dataset {
 public:
  /// `classes`: the model's, by number of the data's.
  MatchedClasses(std::unique_ptr<Dataset> data, const std::vector<std::string>& names,
                 std::vector<std::int32_t> classes, std::string note)
      : data_(std::move(data)), classes_(std::move(classes)) {
    info_ = data_->info();
    info_.class_names = names;
    info_.classes = static_cast<int>(names.size());
    notes_ = data_->notes();
    if (!note.empty()) notes_.push_back(std::move(note));
  }

  std::int64_t size() const override { return data_->size(); }
  std::vector<TensorSpec> tensors(const ImageForm& form) const override {
    std::vector<TensorSpec> specs = data_->tensors(form);
    for (TensorSpec& spec : specs) {
      if (spec.name == tensor_names::labels) spec.limit = info_.classes;
    }
    return specs;
  }
  void load(std::int64_t index, SampleRandom random, Scratch& scratch, const SampleRow& out) const override {
    data_->load(index, random, scratch, out);
    out.set(tensor_names::labels, label(index));
  }
  std::int32_t label(std::int64_t index) const override {
    return classes_.at(static_cast<std::size_t>(data_->label(index)));
  }
  SampleOrigin origin(std::int64_t index) const override { return data_->origin(index); }
  std::optional<TokenCount> count_unknown() const override { return data_->count_unknown(); }

 private:
  std::unique_ptr<Dataset> data_;
  std::vector<std::int32_t> classes_;
};

}  // namespace

std::unique_ptr<Dataset> match_classes(std::unique_ptr<Dataset> data, const std::vector<std::string>& names,
                                       const std::string& place) {
  const DatasetInfo& info = data->info();
  if (learns(info.targets, tensor_names::characters) && info.class_names != names) {
    fail(
        "{}: has {} classes of characters in another order than the data, or others; expected the data.vocab or the "
        "training list that it was trained with",
        place, names.size());
  }
  const bool labelled = std::ranges::find(info.targets, tensor_names::labels) != info.targets.end();
  const bool named = !label_names(info).empty() && names != numbered_classes(static_cast<int>(names.size()));
  if (!labelled || !named || info.class_names == names) return data;
  const ClassFinder finder(names);
  std::vector<std::int32_t> classes;
  std::string missing;
  for (const std::string& name : info.class_names) {
    const std::optional<std::int32_t> found = finder.find(name);
    if (!found) missing = name;
    if (found) classes.push_back(*found);
  }
  if (classes.empty() && info.class_names.size() == names.size()) {
    classes.resize(names.size());
    std::iota(classes.begin(), classes.end(), 0);
    const std::string note =
        fmt::format("{}: its classes ({}) are called otherwise than the data's ({}): matched by number", place,
                    listed(names), listed(info.class_names));
    return std::make_unique<MatchedClasses>(std::move(data), names, std::move(classes), note);
  }
  if (!missing.empty()) {
    fail("{}: has no class {}, which the data have; its classes are {}", place, quoted_name(missing), listed(names));
  }
  const std::string note = fmt::format("{}: its classes are {}; the data's ({}) are matched by name", place,
                                       listed(names), listed(info.class_names));
  return std::make_unique<MatchedClasses>(std::move(data), names, std::move(classes), note);
}

}  // namespace ptrain
