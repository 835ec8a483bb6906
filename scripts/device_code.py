#!/usr/bin/env python3
"""Prints the device code in a program, "sass sm_90" or "ptx sm_90" a line; needs no CUDA toolkit.

    scripts/device_code.py PROGRAM              exit code 1 where there is none
    scripts/device_code.py PROGRAM --for sm_90  also if some of it is only PTX, or for other GPUs: sm_90 would compile
                                                it at every start, or could not run it
"""
import pathlib
import struct
import sys

MAGIC = struct.pack("<I", 0xBA55ED50)  # of a fat binary (fatbinary_section.h of the toolkit names the section)
KINDS = {1: "ptx", 2: "sass"}


def fat_binaries(data):
    """The (kind, compute capability) pairs of each fat binary: a set for each source file."""
    at = data.find(MAGIC)
    while at >= 0:
        version, header, size = struct.unpack_from("<HHQ", data, at + 4)
        if version != 1 or header != 16:
            at = data.find(MAGIC, at + 4)
            continue
        entry, end, codes = at + header, at + header + size, set()
        while entry < end:
            kind, _, entry_header, payload = struct.unpack_from("<HHIQ", data, entry)
            codes.add((KINDS.get(kind, "other"), struct.unpack_from("<I", data, entry + 28)[0]))
            entry += entry_header + payload
        yield codes
        at = data.find(MAGIC, end)


def main(program, wanted=None):
    binaries = [codes for codes in fat_binaries(pathlib.Path(program).read_bytes()) if codes]
    for kind, capability in sorted(set().union(*binaries)):
        print(f"{kind} sm_{capability}")
    if not binaries:
        sys.exit(f"{program}: no device code")
    if wanted is None:
        return
    capability = int(wanted.removeprefix("sm_"))
    lacking = sum(("sass", capability) not in codes for codes in binaries)
    if lacking:
        sys.exit(f"{program}: {lacking} of {len(binaries)} fat binaries have no machine code for {wanted}")


if __name__ == "__main__":
    if {"-h", "--help"} & set(sys.argv):
        print(__doc__)
    elif len(sys.argv) == 2:
        main(sys.argv[1])
    elif len(sys.argv) == 4 and sys.argv[2] == "--for":
        main(sys.argv[1], sys.argv[3])
    else:
        sys.exit(__doc__)
