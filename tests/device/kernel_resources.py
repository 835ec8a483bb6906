"""No kernel of the program takes more registers than leave room for enough warps, or spills to local memory.

    kernel_resources.py CUOBJDUMP PROGRAM

What ptxas gave every kernel on every architecture, as the toolkit's cuobjdump tells it: registers a thread, and bytes of
local memory ("STACK"; spilled registers and arrays that have no registers).
"""
import collections
import re
import subprocess
import sys

MOST_REGISTERS = 96  # two blocks of 256 threads, and a third, on a multiprocessor of 65,536
# Bytes of local memory that are known: below what an access to it is noticed by, for a step of occupancy.
MOST_LOCAL = 24


def resources(cuobjdump, program):
    """(architecture, kernel, registers, local bytes) of each."""
    done = subprocess.run([cuobjdump, "--dump-resource-usage", program], capture_output=True, text=True, check=True)
    architecture = kernel = None
    for line in done.stdout.splitlines():
        if found := re.match(r"arch = (\w+)", line):
            architecture = found[1]
        elif found := re.match(r"\s*Function (\S+):", line):
            kernel = found[1]
        elif kernel and (found := re.search(r"REG:(\d+) STACK:(\d+)", line)):
            yield architecture, kernel, int(found[1]), int(found[2])
            kernel = None


def main(cuobjdump, program):
    found = list(resources(cuobjdump, program))
    if len(found) < 100:
        sys.exit(f"{program}: {len(found)} kernels: expected hundreds")
    worst = collections.Counter()
    for architecture, _, registers, _ in found:
        worst[architecture] = max(worst[architecture], registers)
    local = [one for one in found if one[3] > 0]
    print(f"{len(found)} kernels; most registers: {dict(worst)}; {len(local)} use local memory, at most "
          f"{max((one[3] for one in local), default=0)} bytes")
    beyond = [one for one in found if one[2] > MOST_REGISTERS or one[3] > MOST_LOCAL]
    for architecture, kernel, registers, stack in beyond:
        print(f"{architecture} {kernel}: {registers} registers (at most {MOST_REGISTERS}), {stack} bytes of local memory "
              f"(at most {MOST_LOCAL})")
    sys.exit(1 if beyond else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
