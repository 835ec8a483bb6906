"""What other tools call the same samples: the rules of their comparison scripts, on lists of times per run."""
import math
import statistics


def has_samples(comparison):
    """Whether both sides have the two runs that every rule needs."""
    return all(len(comparison.get(side, {}).get("wall", [])) > 1 for side in ("base", "new"))


def hyperfine(base, new):
    """Ratio of the mean times with its propagated error; a change when 1 is outside the ratio's error."""
    ratio = statistics.mean(new) / statistics.mean(base)
    error = ratio * math.hypot(statistics.stdev(new) / statistics.mean(new), statistics.stdev(base) / statistics.mean(base))
    if ratio - error > 1:
        return "SLOWER"
    return "FASTER" if ratio + error < 1 else "SAME"


def nvbench(base, new):
    """nvbench_compare.py: a change when the means differ by more than the smaller of the two relative deviations."""
    change = statistics.mean(new) / statistics.mean(base) - 1
    noise = min(statistics.stdev(side) / statistics.mean(side) for side in (base, new))
    if abs(change) <= noise:
        return "SAME"
    return "SLOWER" if change > 0 else "FASTER"


def google_benchmark(base, new, alpha=0.05):
    """compare.py: Mann and Whitney's U test of the repetitions (normal approximation with continuity), at 5 %."""
    u = sum((a < b) + 0.5 * (a == b) for a in base for b in new)
    m, n = len(base), len(new)
    mean, deviation = m * n / 2, math.sqrt(m * n * (m + n + 1) / 12)
    z = max(0.0, abs(u - mean) - 0.5) / deviation
    if math.erfc(z / math.sqrt(2)) >= alpha:
        return "SAME"
    return "SLOWER" if u > mean else "FASTER"


RULES = {"hyperfine": hyperfine, "nvbench": nvbench, "google/benchmark": google_benchmark}
