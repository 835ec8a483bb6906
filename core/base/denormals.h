// Numbers too small for a normalised mantissa: below 1.2e-38 in fp32.
#pragma once

namespace ptrain {

/// From now on they count as zero, read and computed, in this thread and in those that it starts. A processor takes
/// some hundred cycles for an operation on one, and training makes them: Adam's first moment of a row that has no
/// gradient shrinks until it is denormal after some 800 steps, and stays so for ever.
void flush_denormals();

}  // namespace ptrain
