"""What ptxas makes of every kernel: next to no spilled registers, enough warps on a multiprocessor, accesses of 16 bytes.

    kernel_resources.py PTXAS FOLDER

FOLDER holds the CUDA sources' objects, whose PTX is not compressed (--no-compress). It is assembled for those of
ARCHITECTURES that it can run on.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ARCHITECTURES = (80, 90)
MOST_REGISTERS = 128  # two blocks of 256 threads on a multiprocessor of 65,536
# Kernels whose blocks are smaller: two of 128 threads, in which a warp keeps a row and its sums, read layer norms at 2.2 TB/s on
# an H100.
MOST_REGISTERS_OF = {"backward_sums_kernel": 255}
# Bytes of spilled registers, stored and loaded: ptxas spills a few, outside loops, where one more warp then fits in. Asked
# for none (__launch_bounds__(256, 2)) it takes half as many registers again for all kernels of such a source.
MOST_SPILLED = 48
FEWEST_KERNELS = 300  # fewer are not all
PACK = "Li8E"         # a kernel's template argument `pack` in its name: it loads and stores as many elements at once


def modules(folder):
    """PTX of every object below."""
    for path in sorted(folder.rglob("*.cu.o")):
        for found in re.finditer(rb"\.version \d+\.\d+\n[^\0]*", path.read_bytes()):
            yield found[0].decode()


def assemble(ptxas, architecture, ptx):
    """{kernel: (registers, bytes of spilled registers)}"""
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as source:
        source.write(ptx)
        source.flush()
        done = subprocess.run([ptxas, "--verbose", f"--gpu-name=sm_{architecture}", source.name, "--output-file=/dev/null"],
                              capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"ptxas for sm_{architecture}: {done.stderr}")
    found, kernel, spilled = {}, None, 0
    for line in done.stderr.splitlines():
        if entry := re.search(r"Compiling entry function '(\w+)'", line):
            kernel, spilled = entry[1], 0
        elif spills := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            spilled += int(spills[1]) + int(spills[2])
        elif kernel and (used := re.search(r"Used (\d+) registers", line)):
            found[kernel], kernel = (int(used[1]), spilled), None
    return found


def without_wide_accesses(ptx):
    """Kernels of packs that neither load nor store 16 bytes at once."""
    for kernel, body in re.findall(r"\.entry (\w+)\((.*?)\n}", ptx, re.DOTALL):
        if PACK in kernel and not re.search(r"(ld|st)\.global\S*\.(v4\.[bfu]32|v2\.[bfu]64)", body):
            yield kernel


def main(ptxas, folder):
    sources = list(modules(pathlib.Path(folder)))
    tasks = [(architecture, ptx) for architecture in ARCHITECTURES for ptx in sources
             if int(re.search(r"\.target sm_(\d+)", ptx)[1]) <= architecture]
    faults, most, count, spilling = [], {}, 0, 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (architecture, _), kernels in zip(tasks, pool.map(lambda task: assemble(ptxas, *task), tasks)):
            count += len(kernels)
            for kernel, (registers, spilled) in kernels.items():
                most[architecture] = max(most.get(architecture, (0, "")), (registers, kernel))
                spilling += spilled > 0
                allowed = next((limit for name, limit in MOST_REGISTERS_OF.items() if name in kernel), MOST_REGISTERS)
                if registers > allowed or spilled > MOST_SPILLED:
                    faults.append(f"sm_{architecture} {kernel}: {registers} registers (at most {allowed}), "
                                  f"{spilled} bytes spilled (at most {MOST_SPILLED})")
    faults += [f"{kernel}: no access of 16 bytes" for ptx in sources for kernel in without_wide_accesses(ptx)]
    if count < FEWEST_KERNELS:
        faults.append(f"{count} kernels in {folder}: not all of them")
    packs = sum(PACK in kernel for ptx in sources for kernel in re.findall(r"\.entry (\w+)", ptx))
    print(f"{count} kernels ({packs} of packs), {spilling} of which spill; the most registers: {most}")
    print(*faults, sep="\n")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
