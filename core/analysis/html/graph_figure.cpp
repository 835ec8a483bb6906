#include "core/analysis/html/graph_figure.h"

#include "core/analysis/html/charts.h"
#include "core/analysis/op_times.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace ptrain::html {
namespace {

constexpr std::size_t most_rows = 700;  // a page of a PDF ends before 14,400 units
constexpr double row_height = 18, head_height = 22, bar_height = 9;
constexpr double widest_lanes = 64, lane_width = 8;
constexpr double time_column = 212, memory_column = 290, bar_width = 36;

/// An op of the forward pass and its gradient.
struct Row {
  const KernelReport* kernel = nullptr;
  double forward = 0, backward = 0;       // milliseconds of a call
  std::vector<std::size_t> readers = {};  // rows, ascending

  double milliseconds() const { return forward + backward; }
};

struct NetworkRows {
  std::vector<Row> rows;
  double other = 0;  // milliseconds of ops that belong to no row
};

/// The node whose gradient a node of the backward pass is part of: "conv1.grad2" and, of one of several results,
/// "split:1.grad.sum" belong to "conv1" and "split".
std::string find_forward_node(const std::string& node) {
  const std::string name = node.substr(0, node.find(".grad"));
  return name.substr(0, name.find(':'));
}

NetworkRows make_rows(const Report& report) {
  NetworkRows made;
  std::map<std::string, std::size_t> by_name;
  for (const KernelReport& kernel : report.kernels) {
    if (!kernel.graph || kernel.graph->pass != "forward" || made.rows.size() == most_rows) continue;
    const std::size_t row = made.rows.size();
    made.rows.push_back({&kernel, milliseconds_of_call(kernel)});
    for (const std::string& input : kernel.graph->inputs) {
      const auto producer = by_name.find(input);
      if (producer == by_name.end()) continue;
      std::vector<std::size_t>& readers = made.rows[producer->second].readers;
      if (readers.empty() || readers.back() != row) readers.push_back(row);
    }
    by_name[kernel.node] = row;
  }
  for (const KernelReport& kernel : report.kernels) {
    if (!kernel.graph || by_name.contains(kernel.node)) continue;
    const auto row = by_name.find(find_forward_node(kernel.node));
    (row == by_name.end() ? made.other : made.rows[row->second].backward) += milliseconds_of_call(kernel);
  }
  return made;
}

/// For each row whose result is read later than in the next row, the lane beside the rows in which its line runs;
/// lanes are used again below the last reader.
struct Lanes {
  std::vector<std::size_t> of_row;
  std::size_t count = 0;
};

Lanes assign_lanes(const std::vector<Row>& rows) {
  Lanes lanes{std::vector<std::size_t>(rows.size()), 0};
  std::vector<std::size_t> last_readers;  // by lane
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].readers.empty() || rows[i].readers.back() <= i + 1) continue;
    const auto free = std::ranges::find_if(last_readers, [i](std::size_t reader) { return reader <= i; });
    lanes.of_row[i] = static_cast<std::size_t>(free - last_readers.begin());
    if (free == last_readers.end()) last_readers.emplace_back();
    last_readers[lanes.of_row[i]] = rows[i].readers.back();
  }
  lanes.count = last_readers.size();
  return lanes;
}

class GraphDrawing {
 public:
  explicit GraphDrawing(const NetworkRows& network)
      : rows_(network.rows), lanes_(assign_lanes(rows_)), lane_width_(fit_lanes()) {
    for (const Row& row : rows_) {
      most_milliseconds_ = std::max(most_milliseconds_, row.milliseconds());
      most_bytes_ = std::max(most_bytes_, row.kernel->graph->result_bytes);
    }
  }

  Drawing draw(const std::string& description, const std::vector<std::string>& classes) {
    drawing_.description = description;
    drawing_.height = head_height + row_height * static_cast<double>(rows_.size()) + 4;
    drawing_.text({time_column, 12}, "ms", Ink::mute, Anchor::start, tick_size);
    drawing_.text({memory_column, 12}, "MiB", Ink::mute, Anchor::start, tick_size);
    for (std::size_t i = 0; i < rows_.size(); ++i) draw_lines(i);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto series = std::ranges::find(classes, rows_[i].kernel->graph->amp_class) - classes.begin();
      draw_row(i, static_cast<std::size_t>(series));
    }
    return std::move(drawing_);
  }

 private:
  double fit_lanes() const {
    return lanes_.count == 0 ? 0 : std::min(lane_width, widest_lanes / static_cast<double>(lanes_.count));
  }
  double middle(std::size_t row) const { return head_height + row_height * (static_cast<double>(row) + 0.5); }
  double marker_x() const { return 8 + lane_width_ * static_cast<double>(lanes_.count); }

  void add_path(std::vector<Position> points) {
    Shape& shape = drawing_.shapes.emplace_back();
    shape.points = std::move(points);
    shape.stroke = Ink::mute;
  }

  /// From a row to the rows that read its result.
  void draw_lines(std::size_t row) {
    const double x = marker_x(), half = row_height / 2;
    const double lane = x - lane_width_ * static_cast<double>(lanes_.of_row[row] + 1);
    for (const std::size_t reader : rows_[row].readers) {
      if (reader == row + 1) {
        add_path({{x, middle(row)}, {x, middle(reader)}});
      } else {
        add_path({{x, middle(row)}, {lane, middle(row) + half}, {lane, middle(reader) - half}, {x, middle(reader)}});
      }
    }
  }

  void draw_row(std::size_t i, std::size_t series) {
    const Row& row = rows_[i];
    const GraphNodeReport& node = *row.kernel->graph;
    const double y = middle(i), mib = static_cast<double>(node.result_bytes) / (1 << 20);
    const std::string tip =
        fmt::format("{}: {}, {}, {}; {:.3g} ms forward, {:.3g} ms backward; {:.3g} MiB", row.kernel->node,
                    row.kernel->op, node.dtype, node.amp_class, row.forward, row.backward, mib);
    drawing_.marker({marker_x(), y}, series, false, tip);
    const double label = marker_x() + 10;
    drawing_.text({label, y + 4}, shorten_start(row.kernel->node, time_column - 6 - label), Ink::text, Anchor::start,
                  tick_size);
    drawing_.shapes.back().tip = tip;
    const double forward = scale(row.forward, most_milliseconds_), backward = scale(row.backward, most_milliseconds_);
    draw_bar({time_column, y}, forward, Ink::s0);
    draw_bar({time_column + forward, y}, backward, Ink::s5);
    draw_number({time_column + forward + backward, y}, row.milliseconds());
    const double bytes = scale(static_cast<double>(node.result_bytes), static_cast<double>(most_bytes_));
    draw_bar({memory_column, y}, bytes, Ink::soft);
    draw_number({memory_column + bytes, y}, mib);
  }

  static double scale(double value, double most) { return most > 0 ? bar_width * value / most : 0; }
  void draw_bar(Position left, double width, Ink ink) {
    if (width > 0) drawing_.rect({left.x, left.y - bar_height / 2}, width, bar_height, ink);
  }
  void draw_number(Position left, double value) {
    drawing_.text({left.x + 3, left.y + 4}, value < 0.005 ? "0" : fmt::format("{:.3g}", value), Ink::soft,
                  Anchor::start, tick_size);
  }

  /// The end of a name, which tells layers apart, where the whole is wider than `width`.
  static std::string shorten_start(const std::string& name, double width) {
    if (text_width(name, tick_size) * 1.1 <= width) return name;
    std::size_t begin = 0;
    while (begin < name.size() && text_width("..." + name.substr(begin), tick_size) * 1.1 > width) {
      begin += character_bytes(name, begin);
    }
    return "..." + name.substr(begin);
  }

  const std::vector<Row>& rows_;
  Lanes lanes_;
  double lane_width_ = 0;
  double most_milliseconds_ = 0;
  std::int64_t most_bytes_ = 0;
  Drawing drawing_;
};

/// "white: bf16" for each class that occurs, with the types that its ops compute in.
std::vector<std::string> describe_classes(const std::vector<Row>& rows, const std::vector<std::string>& classes) {
  std::vector<std::string> texts;
  for (const std::string& name : classes) {
    std::set<std::string> dtypes;
    for (const Row& row : rows) {
      if (row.kernel->graph->amp_class == name) dtypes.insert(row.kernel->graph->dtype);
    }
    texts.push_back(fmt::format("{}: {}", name, fmt::join(dtypes, ", ")));
  }
  return texts;
}

}  // namespace

Figure draw_graph(const Report& report) {
  const NetworkRows network = make_rows(report);
  if (network.rows.empty()) return {};
  std::vector<std::string> classes;
  double all = network.other;
  for (const Row& row : network.rows) {
    const std::string& name = row.kernel->graph->amp_class;
    if (std::ranges::find(classes, name) == classes.end()) classes.push_back(name);
    all += row.milliseconds();
  }
  Figure figure;
  figure.name = "graph";
  figure.title = "The network, by time, memory and AMP class";
  figure.legend = legend(describe_classes(network.rows, classes), LegendOf::points);
  figure.panels.push_back({"", GraphDrawing(network).draw(figure.title, classes)});
  figure.notes.emplace_back(
      "A line leads from an op to those that read its result. Dark bars are the forward pass, light ones the op's "
      "gradient; memory is that of its results. The legend has AMP classes and what they compute in.");
  if (network.other > 0) {
    figure.notes.push_back(fmt::format("{:.1f} % of a step is in ops that belong to no row: casts, exchanges, updates.",
                                       100 * network.other / all));
  }
  return figure;
}

}  // namespace ptrain::html
