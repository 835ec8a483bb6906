// The levels of automatic mixed precision, named as Paddle names them.
#pragma once

namespace ptrain {

/// O0: fp32. O1: the white list in low precision. O2: almost everything, with fp32 master weights.
enum class AmpLevel { O0, O1, O2 };

}  // namespace ptrain
