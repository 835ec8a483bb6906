"""The final report of every training peer, for any framework; needs no packages."""
import json
import resource
import statistics


def peak_rss_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def print_report(samples_per_step, times, **fields):
    """One line of JSON: `fields`, and metrics from the seconds of each step."""
    percentiles = statistics.quantiles(times, n=100, method="inclusive") if len(times) > 1 else times * 99
    print(json.dumps({
        **fields,
        "samples_per_second": samples_per_step * len(times) / sum(times),
        "step_ms": {"mean": 1e3 * statistics.fmean(times), "p50": 1e3 * percentiles[49],
                    "p90": 1e3 * percentiles[89], "p99": 1e3 * percentiles[98]},
        "steps": len(times),
    }))
