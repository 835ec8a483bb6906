// Networks for click prediction from dense and hashed categorical features, whose embeddings are rows of one table: a
// batch's gradient is of the rows that it reads.
#pragma once

#include "core/base/enums.h"
#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/model/model.h"
#include "core/ops/sparse/find_rows.h"

namespace ptrain {

enum class ClickForm { wide_deep, ctr_dnn, deepfm, dlrm_dcnv2 };
template <>
struct EnumNames<ClickForm> {
  static constexpr std::array<std::string_view, 4> names{"wide_deep", "ctr_dnn", "deepfm", "dlrm_dcnv2"};
};

struct ClickSpec {
  ClickForm form = ClickForm::wide_deep;
  std::int64_t dense_features = 13;        // per row; 0: none
  std::int64_t categorical_features = 26;  // per row
  std::int64_t hash_buckets = 1'000'001;   // rows of the table; the most rows of a dynamic one
  std::int64_t embedding_size = 9;
  std::int64_t bag_size = 0;  // ids of each categorical feature, a bag of which -1 are none; 0: one id
  BagMode bag = BagMode::sum;
  std::optional<FindRowsAttributes> dynamic_table = {};  // in training; ids are then keys
  std::uint64_t seed = 0;                                // of the start of a dynamic table's rows
};

/// The spec for a configuration and data.
ClickSpec click_spec(ClickForm form, const Config& config, const DatasetInfo& data);

/// The network of spec.form.
std::unique_ptr<Model> make_click_model(const ClickSpec& spec);

}  // namespace ptrain
