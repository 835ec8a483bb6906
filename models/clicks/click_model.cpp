#include "models/clicks/click_model.h"

#include "models/clicks/click_blocks.h"

#include <fmt/format.h>

namespace ptrain {
namespace {

class ClickModel final : public Model {
 public:
  explicit ClickModel(const ClickSpec& spec) : spec_(spec) {}

  std::string name() const override { return std::string(enum_name(spec_.form)); }
  std::string signature() const override {
    // A dynamic table's rows fit into one of another capacity.
    const std::string rows = spec_.dynamic_table ? "dynamic_table" : fmt::format("hash_buckets={}", spec_.hash_buckets);
    std::string tables = fmt::format("{} {} embedding_size={}", name(), rows, spec_.embedding_size);
    if (spec_.bag_size == 0) return tables;
    return fmt::format("{} slots={} dense_features={} bag={}", tables, spec_.categorical_features, spec_.dense_features,
                       enum_name(spec_.bag));
  }
  BuiltModel construct(const Bucket& batch, Mode mode) const override {
    switch (spec_.form) {
      case ClickForm::ctr_dnn:
        return build_ctr_dnn(spec_, batch, mode);
      case ClickForm::deepfm:
        return build_deepfm(spec_, batch, mode);
      case ClickForm::dlrm_dcnv2:
        return build_dlrm_dcnv2(spec_, batch, mode);
      case ClickForm::wide_deep:
        break;
    }
    return build_wide_deep(spec_, batch, mode);
  }
  DataKind reads() const override { return DataKind::table; }

 private:
  ClickSpec spec_;
};

}  // namespace

namespace {

FindRowsAttributes find_rows_attributes(const Config& config) {
  FindRowsAttributes attributes{.inserts = true, .admit_after = config.model.admit_after};
  const TablesConfig& tables = config.train.tables;
  if (tables.sweep_every_steps > 0) {
    attributes.sweep =
        RowSweep{tables.sweep_every_steps, static_cast<float>(tables.decay), static_cast<float>(tables.evict_below)};
  }
  return attributes;
}

}  // namespace

ClickSpec click_spec(ClickForm form, const Config& config, const DatasetInfo& data) {
  return {form,
          data.dense_features,
          data.categorical_features,
          config.model.hash_buckets,
          config.model.embedding_size,
          data.bag_size,
          config.model.bag,
          config.model.dynamic_table ? std::optional(find_rows_attributes(config)) : std::nullopt,
          static_cast<std::uint64_t>(config.seed)};
}

std::unique_ptr<Model> make_click_model(const ClickSpec& spec) { return std::make_unique<ClickModel>(spec); }

}  // namespace ptrain
