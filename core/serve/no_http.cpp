#include "core/base/errors.h"
#include "core/serve/http.h"

namespace ptrain {

void serve_http(const ModelService&, const HttpOptions&, const std::function<void(int)>&) {
  fail("this ptrain was built without an HTTP library: install libcpp-httplib-dev and build it again");
}

}  // namespace ptrain
