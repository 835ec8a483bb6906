// What of a divided table's exchange (core/ops/sparse/exchanged_rows.h) a rank computes by itself.
#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/first_places.h"
#include "core/ops/sparse/exchanged_rows.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace ptrain::cpu {
namespace {

template <typename Id>
class UniqueIdsKernel final : public Kernel {
 public:
  explicit UniqueIdsKernel(const KernelContext& context)
      : shard_(context.op_as<UniqueIds>().attrs()),
        count_(context.inputs[0].count()),
        slots_(FirstPlaces::slots_for(count_)),
        next_(static_cast<std::size_t>(shard_.world_size)) {}

  std::size_t workspace_bytes() const override { return slots_ * sizeof(std::int32_t); }

  void run(const KernelArgs& args) override {
    const auto* ids = static_cast<const Id*>(args.inputs[0]);
    auto* inverse = static_cast<std::int32_t*>(args.outputs[UniqueIds::inverse]);
    auto* unique = static_cast<Id*>(args.outputs[UniqueIds::unique]);
    auto* counts = static_cast<std::int32_t*>(args.outputs[UniqueIds::counts]);
    std::fill_n(counts, shard_.world_size, 0);
    FirstPlaces first_places(static_cast<std::int32_t*>(args.workspace), slots_);
    for (std::int64_t i = 0; i < count_; ++i) {
      inverse[i] = !shard_.is_id(ids[i]) ? -1 : first_places(ids, static_cast<std::int32_t>(i));
      if (inverse[i] == i) ++counts[shard_.owner(ids[i])];
    }
    std::exclusive_scan(counts, counts + shard_.world_size, next_.begin(), 0);
    for (std::int64_t i = 0; i < count_; ++i) {
      if (inverse[i] < 0) continue;
      if (inverse[i] == i) {
        inverse[i] = next_[static_cast<std::size_t>(shard_.owner(ids[i]))]++;
        unique[inverse[i]] = ids[i];
      } else {
        inverse[i] = inverse[inverse[i]];  // an earlier place, which has its number by now
      }
    }
  }

 private:
  RowShard shard_;
  std::int64_t count_;
  std::size_t slots_;
  std::vector<std::int32_t> next_;
};

/// A sparse set (Briggs and Torczon, "An efficient representation for sparse sets", 1993): `places` needs no initial
/// values, since a row is in the set only if its place among `rows` has it.
template <typename Id>
class MergeRowsKernel final : public Kernel {
 public:
  explicit MergeRowsKernel(const KernelContext& context) : sizes_(context.op_as<MergeRows>().attrs()) {}

  void run(const KernelArgs& args) override {
    const auto* received = static_cast<const Id*>(args.inputs[MergeRows::received]);
    const auto* counts = static_cast<const std::int32_t*>(args.inputs[MergeRows::received_counts]);
    auto* rows = static_cast<std::int32_t*>(args.outputs[MergeRows::rows]);
    auto* numbers = static_cast<std::int32_t*>(args.outputs[MergeRows::numbers]);
    auto* places = static_cast<std::int32_t*>(args.outputs[MergeRows::places]);
    const std::int64_t count = std::accumulate(counts, counts + sizes_.shard.world_size, std::int64_t{0});
    std::int32_t used = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto row = static_cast<std::int32_t>(sizes_.row(received[i]));
      if (row < 0) {
        numbers[i] = -1;
        continue;
      }
      const std::int32_t place = places[row];
      const bool found = place >= 0 && place < used && rows[place] == row;
      if (!found) {
        rows[used] = row;
        places[row] = used++;
      }
      numbers[i] = places[row];
    }
    std::fill(rows + used, rows + sizes_.merged(), -1);
    *static_cast<std::int32_t*>(args.outputs[MergeRows::used]) = used;
  }

 private:
  RowExchange sizes_;
};

class KnownIdsKernel final : public Kernel {
 public:
  explicit KnownIdsKernel(const KernelContext& context) : count_(context.outputs[0].count()) {}

  void run(const KernelArgs& args) override {
    const auto* inverse = static_cast<const std::int32_t*>(args.inputs[KnownIds::inverse]);
    const auto* known = static_cast<const float*>(args.inputs[KnownIds::known]);
    auto* ids = static_cast<std::int32_t*>(args.outputs[0]);
    parallel_for(count_, 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        ids[i] = inverse[i] >= 0 && known[inverse[i]] > 0 ? inverse[i] : -1;
      }
    });
  }

 private:
  std::int64_t count_;
};

class UniqueGradientKernel final : public Kernel {
 public:
  explicit UniqueGradientKernel(const KernelContext& context)
      : factor_(context.op_as<UniqueGradient>().factor()),
        ids_(context.inputs[UniqueGradient::inverse].count()),
        owners_(context.inputs[UniqueGradient::counts].count()),
        width_(context.outputs[0].shape[1]),
        in_bag_(ids_ * width_ / context.inputs[UniqueGradient::dy].count()) {}

  void run(const KernelArgs& args) override {
    const auto* inverse = static_cast<const std::int32_t*>(args.inputs[UniqueGradient::inverse]);
    const auto* counts = static_cast<const std::int32_t*>(args.inputs[UniqueGradient::counts]);
    const auto* dy = static_cast<const float*>(args.inputs[UniqueGradient::dy]);
    auto* sums = static_cast<float*>(args.outputs[0]);
    const std::int64_t used = std::accumulate(counts, counts + owners_, std::int64_t{0});
    std::fill_n(sums, used * width_, 0.0f);
    for (std::int64_t i = 0; i < ids_; ++i) {
      if (inverse[i] < 0) continue;
      const float* from = dy + i / in_bag_ * width_;
      float* sum = sums + inverse[i] * width_;
      for (std::int64_t c = 0; c < width_; ++c) sum[c] += factor_ * from[c];
    }
  }

 private:
  float factor_;
  std::int64_t ids_, owners_, width_, in_bag_;
};

template <template <typename> typename IdKernel>
std::unique_ptr<Kernel> make_for_ids(const KernelContext& context) {
  if (context.inputs[0].dtype == DType::i64) return std::make_unique<IdKernel<std::int64_t>>(context);
  return std::make_unique<IdKernel<std::int32_t>>(context);
}

}  // namespace

std::unique_ptr<Kernel> make_unique_ids(const KernelContext& context) { return make_for_ids<UniqueIdsKernel>(context); }

std::unique_ptr<Kernel> make_known_ids(const KernelContext& context) {
  return std::make_unique<KnownIdsKernel>(context);
}

std::unique_ptr<Kernel> make_merge_rows(const KernelContext& context) { return make_for_ids<MergeRowsKernel>(context); }

std::unique_ptr<Kernel> make_unique_gradient(const KernelContext& context) {
  return std::make_unique<UniqueGradientKernel>(context);
}

}  // namespace ptrain::cpu
