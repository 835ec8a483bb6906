// What samples are, as data sets make them and models read them.
#pragma once

namespace ptrain {

enum class DataKind { image, text };

}  // namespace ptrain
