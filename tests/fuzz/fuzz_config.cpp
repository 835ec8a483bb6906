// Any bytes as a YAML configuration: accepted, or refused with one clean line.
#include "core/base/errors.h"
#include "core/config/keys.h"
#include "core/yaml/load.h"
#include "tests/test_catalogs.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ptrain::Catalogs& catalogs = ptrain::test_catalogs();
  const auto no_environment = [](const std::string&) { return std::nullopt; };
  try {
    const ptrain::Config config = ptrain::parse_config(text, "fuzz.yaml", catalogs, {}, no_environment).config;
    ptrain::parse_config(ptrain::to_json(config).dump(), "echo", catalogs, {}, no_environment);
  } catch (const ptrain::Error& error) {
    const std::string_view message = error.what();
    const bool clean = message.find('\n') == message.npos && message.size() < 1000 && !message.starts_with("echo");
    if (error.code() != ptrain::ExitCode::usage || !clean) std::abort();
  }
  return 0;
}
