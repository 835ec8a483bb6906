#include "core/analysis/live/run_site.h"

#include "core/analysis/html/elements.h"
#include "core/analysis/html/run_overview.h"
#include "core/analysis/html/svg.h"
#include "core/analysis/run_set.h"
#include "core/base/errors.h"
#include "core/io/folder_lock.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds update_interval{500};

std::string join(const RunSite::Place& place) { return fmt::format("{}", fmt::join(place, "/")); }

/// Whether it names a folder, and not the way to one.
bool is_plain(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos && name.find('\0') == name.npos;
}

/// A link to the page `levels` folders above.
std::string link_up(std::size_t levels) {
  std::string link;
  for (std::size_t i = 0; i < levels; ++i) link += "../";
  return link + "index.html";
}

std::string make_heading(const std::string& text) { return fmt::format("<h1>{}</h1>\n", html::escaped(text)); }

std::string sweeps_section(const std::vector<std::string>& sweeps) {
  html::HtmlTable table{"", {{"Sweep"}}, {}};
  for (const std::string& name : sweeps) table.rows.push_back({{name, html::file_link(name + "/index.html")}});
  return html::table_section(table);
}

}  // namespace

bool RunSite::Run::update() {
  const bool is_running = FolderLock::is_held(folder_);
  const FileIdentity report = is_running ? FileIdentity{} : identify_file(folder_ / run_files::report);
  const State state{is_running, report, identify_file(folder_ / run_files::start)};
  has_report_ = report != FileIdentity{};
  MetricsTail::News news;
  if (!has_report_) {
    news = tail_.read();
    if (news.restarted) progress_ = {};
    for (const MetricsLine& line : news.lines) progress_.add(line);
  }
  if (state == seen_ && !news.restarted && news.lines.empty()) return false;
  seen_ = state;
  try {
    overview_ = has_report_ ? read_overview(folder_) : describe_unreported(folder_, progress_, is_running);
  } catch (const Error& error) {
    overview_ = {};
    overview_.folder = folder_.string();
    overview_.message = error.what();
  }
  return true;
}

RunSite::RunSite(const fs::path& root) : root_(fs::absolute(root / ".").lexically_normal().parent_path()) {
  if (!fs::is_directory(root)) fail("{}: no such folder; expected one with runs", root.string());
  update();
  if (runs_.empty() && sweeps_.empty()) fail("{}: contains no run", root.string());
}

void RunSite::update() {
  if (version_ > 0 && Clock::now() < updated_ + update_interval) return;
  std::map<std::string, Run> known = std::move(runs_);
  std::vector<std::string> sweeps;
  bool changed = version_ == 0;
  runs_.clear();
  for (const FoundFolder& found : find_run_folders(root_)) {
    const std::string path = found.path == root_ ? "" : found.path.lexically_relative(root_).string();
    if (found.is_sweep) {
      sweeps.push_back(path);
    } else if (auto node = known.extract(path)) {
      runs_.insert(std::move(node));
    } else {
      runs_.try_emplace(path, found.path);
      changed = true;
    }
  }
  changed = changed || !known.empty() || sweeps != sweeps_;
  sweeps_ = std::move(sweeps);
  if (changed) ++version_;
  for (auto& [path, run] : runs_) update(run);
  updated_ = Clock::now();
}

void RunSite::update(Run& run) {
  if (run.update()) run.version = ++version_;
}

std::optional<fs::path> RunSite::find_folder(const Place& place) const {
  fs::path folder = root_;
  for (const std::string& name : place) {
    if (!is_plain(name)) return std::nullopt;
    folder /= name;
    std::error_code error;
    if (!fs::is_directory(fs::symlink_status(folder, error))) return std::nullopt;
  }
  return folder;
}

RunSite::Run* RunSite::find_run(const Place& place) {
  if (!std::ranges::all_of(place, is_plain)) return nullptr;
  const std::string path = join(place);
  if (const auto known = runs_.find(path); known != runs_.end()) return &known->second;
  const std::optional<fs::path> folder = find_sweep(place) ? find_folder(place) : std::nullopt;
  if (!folder || !holds_run(*folder)) return nullptr;
  Run& run = sweep_runs_.try_emplace(path, *folder).first->second;
  update(run);
  return &run;
}

fs::path RunSite::require_folder(const Place& place) const {
  const std::optional<fs::path> folder = find_folder(place);
  if (!folder) fail("{}: is no longer there", (root_ / join(place)).string());
  return *folder;
}

std::optional<RunSite::Page> RunSite::make_page(const Place& place) {
  if (!std::ranges::all_of(place, is_plain)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  update();
  try {
    if (const Run* run = find_run(place)) return make_run(place, *run);
    if (std::ranges::find(sweeps_, join(place)) != sweeps_.end()) return make_sweep(place);
  } catch (const std::exception& error) {  // files that cannot be read, or were removed meanwhile
    return Page{{"ptrain", make_heading(join(place)) + html::paragraph(error.what())}};
  }
  return place.empty() ? std::optional(make_overview()) : std::nullopt;
}

std::uint64_t RunSite::version(const Place& place) {
  const std::lock_guard lock(mutex_);
  update();
  const Run* run = find_run(place);
  return run != nullptr ? run->version : version_;
}

std::optional<fs::path> RunSite::find_file(const Place& place, std::string_view name) {
  if (name != run_files::report && name != run_files::metrics) return std::nullopt;
  const std::lock_guard lock(mutex_);
  update();
  const std::optional<fs::path> folder = find_run(place) != nullptr ? find_folder(place) : std::nullopt;
  std::error_code error;  // a link could lead out of the folder
  if (!folder || !fs::is_regular_file(fs::symlink_status(*folder / name, error))) return std::nullopt;
  return *folder / name;
}

RunSite::Page RunSite::make_overview() const {
  std::vector<RunOverview> runs;
  for (const auto& [path, run] : runs_) runs.emplace_back(run.overview()).folder = path;
  Page page;
  page.changes = true;
  page.title = fmt::format("ptrain: {}", root_.filename().string());
  page.content = make_heading("Runs of " + root_.string()) + html::paragraph(html::sum_up_runs(runs), " class=\"sum\"");
  page.content += html::runs_section(std::move(runs)) + sweeps_section(sweeps_);
  return page;
}

std::optional<RunSite::Place> RunSite::find_sweep(const Place& place) const {
  for (std::size_t depth = 0; depth < place.size(); ++depth) {
    Place above(place.begin(), place.begin() + static_cast<std::ptrdiff_t>(depth));
    if (std::ranges::find(sweeps_, join(above)) != sweeps_.end()) return above;
  }
  return std::nullopt;
}

RunSite::Page RunSite::make_run(const Place& place, const Run& run) const {
  const fs::path folder = require_folder(place);
  const std::optional<Place> sweep = find_sweep(place);
  PageLinks links{folder};
  if (!place.empty()) {
    links.back = link_up(place.size() - (sweep ? sweep->size() : 0));
    links.back_text = sweep ? "The benchmark" : "All runs";
  }
  const std::string name = place.empty() ? root_.filename().string() : join(place);
  if (!run.has_report()) {
    Page page;
    page.changes = run.overview().status == ListedStatus::running;
    page.title = "ptrain: " + name;
    page.content = links.back.empty() ? "" : html::back_link(links.back, links.back_text);
    page.content += make_heading(name) + html::progress_content(run.overview(), run.progress());
    return page;
  }
  if (!sweep) return {make_run_page(load_runs(folder.string()).cases.at(0).runs.at(0), name, links)};
  const RunSet set = load_runs(require_folder(*sweep).string());
  for (const MeasuredCase& item : set.cases) {
    for (const MeasuredRun& one : item.runs) {
      if (one.report && one.report_file.parent_path() == folder) {
        return {make_run_page(one, name_run(item, one), links)};
      }
    }
  }
  return {make_run_page(load_runs(folder.string()).cases.at(0).runs.at(0), name, links)};
}

RunSite::Page RunSite::make_sweep(const Place& place) const {
  const fs::path folder = require_folder(place);
  const std::vector<RunSet> sets{load_runs(folder.string())};
  PageLinks links{folder, RunLinks::pages};
  if (!place.empty()) {
    links.back = link_up(place.size());
    links.back_text = "All runs";
  }
  return {ptrain::make_page(sets, make_table(sets, default_columns()), links)};
}

}  // namespace ptrain
