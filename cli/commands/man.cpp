// ptrain man: prints the manual page.
#include "cli/commands.h"
#include "cli/reference/man_page.h"
#include "core/report/build_info.h"

#include <fmt/format.h>

#include <cstdio>

namespace ptrain {

void add_man_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("man", "print the manual page");
  command->footer("Example:\n  ptrain man > ptrain.1 && man ./ptrain.1");
  command->callback([&program] { fmt::print("{}", man_page(describe_program(program), build_info().version)); });
}

}  // namespace ptrain
