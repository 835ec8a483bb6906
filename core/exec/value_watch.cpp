#include "core/exec/value_watch.h"

#include "core/base/parallel.h"
#include "core/ops/sparse/exchanged_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>

namespace ptrain {
namespace {

constexpr float largest_f16 = 65504.0F, smallest_f16 = 0x1p-24F;

template <typename T>
void add_values(ValueRange& range, const T* values, std::int64_t begin, std::int64_t end) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  float minimum = infinity, maximum = -infinity;
  std::int64_t zeros = 0, above = 0, below = 0, not_finite = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const auto value = static_cast<float>(values[i]);
    const float magnitude = std::abs(value);
    const bool finite = magnitude < infinity;
    not_finite += finite ? 0 : 1;
    zeros += magnitude == 0 ? 1 : 0;
    above += finite && magnitude > largest_f16 ? 1 : 0;
    below += magnitude > 0 && magnitude < smallest_f16 ? 1 : 0;
    minimum = finite && value < minimum ? value : minimum;
    maximum = finite && value > maximum ? value : maximum;
  }
  range.minimum = std::min(range.minimum, double{minimum});
  range.maximum = std::max(range.maximum, double{maximum});
  range.values += end - begin;
  range.zeros += zeros;
  range.above_f16 += above;
  range.below_f16 += below;
  range.not_finite += not_finite;
}

void add_part(ValueRange& all, const ValueRange& part) {
  all.minimum = std::min(all.minimum, part.minimum);
  all.maximum = std::max(all.maximum, part.maximum);
  all.values += part.values;
  all.zeros += part.zeros;
  all.above_f16 += part.above_f16;
  all.below_f16 += part.below_f16;
  all.not_finite += part.not_finite;
}

/// Calls body(pointer to the first element) with the element type of a floating dtype; nothing for others.
template <typename Body>
void with_elements(DType dtype, const std::byte* data, Body&& body) {
  switch (dtype) {
    case DType::f32:
      return body(reinterpret_cast<const float*>(data));
    case DType::bf16:
      return body(reinterpret_cast<const bf16*>(data));
    case DType::f16:
      return body(reinterpret_cast<const f16*>(data));
    case DType::i64:
    case DType::i32:
    case DType::u8:
    case DType::s8:
      return;
  }
}

void add_tensor(ValueRange& range, const TensorDesc& desc, const std::byte* data) {
  constexpr std::int64_t grain = 1 << 14;
  std::mutex mutex;
  with_elements(desc.dtype, data, [&](const auto* values) {
    parallel_for(desc.count(), grain, [&](std::int64_t begin, std::int64_t end) {
      ValueRange part;
      add_values(part, values, begin, end);
      const std::lock_guard lock(mutex);
      add_part(range, part);
    });
  });
}

/// The first value that is not finite; 0 where all are.
double first_not_finite(const TensorDesc& desc, const std::byte* data) {
  double found = 0;
  with_elements(desc.dtype, data, [&](const auto* values) {
    const auto* const end = values + desc.count();
    const auto* const first =
        std::find_if(values, end, [](auto value) { return !std::isfinite(static_cast<float>(value)); });
    if (first != end) found = static_cast<float>(*first);
  });
  return found;
}

/// A value that no node of the step computed.
bool is_given(const Value& value) { return value.storage != Storage::activation && is_floating(value.desc.dtype); }

std::string find_given_cause(const Graph& graph, const Node& node, const ValueWatch::Read& read) {
  for (const ValueId id : node.inputs) {
    if (id == no_value || !is_given(graph.value(id))) continue;
    if (first_not_finite(graph.desc(id), read(id)) != 0) return graph.value(id).name;
  }
  return {};
}

}  // namespace

std::string describe(const NonFinite& found) {
  const double value = std::isnan(found.value) ? std::abs(found.value) : found.value;  // "nan", whatever its sign
  return fmt::format("{} in {} ({}, {}) at step {}{}", value, found.tensor, found.op, phase_name(found.phase),
                     found.step, found.input.empty() ? "" : fmt::format(", whose input {} is not finite", found.input));
}

void ValueWatch::add(const Graph& graph, const Node& node, const Read& read) {
  if (node.phase == Pass::update || leaves_results_unwritten(*node.op)) return;
  for (const ValueId id : node.outputs) {
    if (id == no_value || !is_floating(graph.desc(id).dtype)) continue;
    const Value& value = graph.value(id);
    const auto [place, is_new] = places_.try_emplace(value.name, ranges_.size());
    if (is_new)
      ranges_.push_back(
          {.tensor = value.name, .op = std::string(node.op->type()), .phase = node.phase, .dtype = value.desc.dtype});
    ValueRange& range = ranges_[place->second];
    const std::int64_t before = range.not_finite;
    add_tensor(range, value.desc, read(id));
    if (range.not_finite == before || not_finite_.contains(node.phase)) continue;
    const double found = first_not_finite(value.desc, read(id));
    not_finite_[node.phase] = {step_, node.phase, range.op, value.name, found, find_given_cause(graph, node, read)};
  }
}

std::optional<NonFinite> ValueWatch::find_first(Pass last) const {
  std::optional<NonFinite> first;
  for (const auto& [phase, found] : not_finite_) {
    if (phase <= last && (!first || found.step < first->step)) first = found;
  }
  return first;
}

}  // namespace ptrain
