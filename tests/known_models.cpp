// Linked into a test program that reads configurations: they know the models before main, as a program's do in main.
#include "models/registry.h"

namespace ptrain {
namespace {

[[maybe_unused]] const bool known = [] {
  use_models(model_entries());
  return true;
}();

}  // namespace
}  // namespace ptrain
