#include "core/base/errors.h"
#include "core/serve/http.h"

namespace ptrain {

[[noreturn]] static void fail_without_http() {
  fail("this ptrain was built without an HTTP library: install libcpp-httplib-dev and build it again");
}

void serve_http(const ModelService&, const HttpOptions&, const std::function<void(int)>&) { fail_without_http(); }
void serve_texts(TextService&, const HttpOptions&, const std::function<void(int)>&) { fail_without_http(); }
void serve_runs(RunSite&, HttpOptions, const std::function<void(int)>&) { fail_without_http(); }

}  // namespace ptrain
