"""Makes a wheel of an installed tree and the Python module: pip installs bin/ with the scripts and the rest next to it,
so that ptrain finds its libraries as it does in the tree.

usage: wheel.py TREE VERSION OUT
"""
import base64
import hashlib
import pathlib
import platform
import re
import subprocess
import sys
import zipfile

SUMMARY = "Trains reference models and reports how fast, in how much memory and how well"


def glibc_needed(files):
    """The newest version of glibc whose symbols one of `files` requires, as (major, minor)."""
    needed = (2, 17)  # the oldest that this form of manylinux tag can name
    for file in files:
        symbols = subprocess.run(["objdump", "-T", file], capture_output=True, text=True, check=True).stdout
        needed = max([needed, *(tuple(map(int, found)) for found in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols))])
    return needed


def members(tree, version):
    """(name in the wheel, file) of all files of `tree` but what compilers read. A wheel has no links: a library is named
    as programs ask for it."""
    for file in sorted(tree.rglob("*")):
        relative = file.relative_to(tree)
        if file.is_dir() or relative.parts[0] not in ("bin", "lib", "share"):
            continue
        if relative.parts[:2] in (("lib", "cmake"), ("lib", "pkgconfig"), ("lib", "libptrain.so")):
            continue
        if relative.parts[0] == "bin":
            if relative.name == "ptrain":
                yield f"ptrain-{version}.data/scripts/ptrain", file
        elif relative.parts[0] != "lib" or not any(
                link.is_symlink() and link.resolve() == file for link in file.parent.iterdir()):
            yield f"ptrain-{version}.data/data/{relative}", file.resolve()


def main():
    tree, version, out = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], pathlib.Path(sys.argv[3])
    glibc = glibc_needed([tree / "bin/ptrain", *tree.glob("lib/*.so"), *(tree / "lib/ptrain").iterdir()])
    tag = f"py3-none-manylinux_{glibc[0]}_{glibc[1]}_{platform.machine()}"
    info = f"ptrain-{version}.dist-info"
    metadata = ["Metadata-Version: 2.4", "Name: ptrain", f"Version: {version}", f"Summary: {SUMMARY}",
                "License-Expression: Apache-2.0", "Requires-Python: >=3.7", "Description-Content-Type: text/markdown"]
    description = (tree / "share/doc/ptrain/README.md").read_text()
    texts = {
        f"{info}/METADATA": "\n".join(metadata) + "\n\n" + description,
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: ptrain\nRoot-Is-Purelib: false\nTag: {tag}\n",
    }
    record = ""
    wheel = out / f"ptrain-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(name, content, mode):
            nonlocal record
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, (0o100000 | mode) << 16
            archive.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(content)}\n"

        for name, file in members(tree, version):
            add(name, file.read_bytes(), file.stat().st_mode & 0o777)
        add("ptrain.py", (pathlib.Path(__file__).parent / "python/ptrain.py").read_bytes(), 0o644)
        for name, text in texts.items():
            add(name, text.encode(), 0o644)
        add(f"{info}/RECORD", (record + f"{info}/RECORD,,\n").encode(), 0o644)
    print(wheel)


if __name__ == "__main__":
    main()
