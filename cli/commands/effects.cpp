// ptrain effects: computes the effects of a benchmark's axes from its records.
#include "core/analysis/effects/effects.h"
#include "cli/commands.h"
#include "cli/output_format.h"
#include "core/report/json_file.h"

#include <fmt/format.h>

#include <memory>

namespace ptrain {
namespace {

struct EffectsCommand {
  std::string folder;
  FormatOptions format;
  bool latex = false;
};

void effects(const EffectsCommand& options) {
  const EffectsReport report = find_effects(load_runs(options.folder));
  if (options.format.json) {
    print_document(report);
  } else if (options.latex) {
    fmt::print("{}", effects_latex(report));
  } else {
    fmt::print("{}", options.format.markdown ? effects_markdown(report) : effects_text(report));
  }
}

}  // namespace

void add_effects_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("effects", "show the effect of each flag of a benchmark");
  const auto options = std::make_shared<EffectsCommand>();
  command->add_option("DIR", options->folder, "folder of a benchmark's records")->required();
  options->format.add_to(*command);
  command->add_flag("--latex", options->latex, "print LaTeX")->excludes("--json")->excludes("--markdown");
  command->footer("Example:\n  ptrain effects runs/smoke --markdown");
  command->callback([options] { effects(*options); });
}

}  // namespace ptrain
