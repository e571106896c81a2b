# wheel.py VERSION TREE OUT - writes folder TREE as a wheel for Python's
# installers into folder OUT. Its tag names the oldest C library that knows
# every symbol of the tree's programs and libraries.
# SPDX-License-Identifier: MIT
import base64, hashlib, pathlib, platform, re, sys, zipfile

version, tree, out = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
LICENCES = "share/doc/clshell/"
METADATA = f"""Metadata-Version: 2.1
Name: clshell
Version: {version}
Summary: A Lua shell for GPU compute
License: MIT; the program is linked with GNU readline: GPL-3.0-or-later
Requires-Python: >=3.7
Provides-Extra: cpu
Requires-Dist: intel-opencl-rt; extra == "cpu"
Requires-Dist: intel-cmplr-lib-rt; extra == "cpu"
Description-Content-Type: text/markdown

{(tree / LICENCES / "README.md").read_text()}"""

files = {}
glibc = 0
for path in sorted(p for p in tree.rglob("*") if p.is_file()):
    name, data = path.relative_to(tree).as_posix(), path.read_bytes()
    if data.startswith(b"\x7fELF"):
        glibc = max([glibc] + [int(minor) for minor in
                               re.findall(rb"GLIBC_2\.(\d+)", data)])
    if name.startswith("bin/"):
        files[f"clshell-{version}.data/scripts/{name[4:]}"] = data
    elif name.startswith(LICENCES):
        name = name[len(LICENCES):]
        files[f"clshell-{version}.dist-info/licenses/{name}"] = data
    else:
        files[f"clshell-{version}.data/data/{name}"] = data

tag = f"py3-none-manylinux_2_{glibc}_{platform.machine()}"
info = f"clshell-{version}.dist-info/"
files[info + "METADATA"] = METADATA.encode()
files[info + "WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: clshell\n"
                         f"Root-Is-Purelib: false\nTag: {tag}\n").encode()
record = ""
for name, data in files.items():
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    record += f"{name},sha256={digest.decode().rstrip('=')},{len(data)}\n"
files[info + "RECORD"] = f"{record}{info}RECORD,,\n".encode()

wheel = f"{out}/clshell-{version}-{tag}.whl"
with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as z:
    for name, data in files.items():
        entry = zipfile.ZipInfo(name)  # of 1980: a build again is the same
        mode = 0o755 if data.startswith(b"\x7fELF") else 0o644
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        z.writestr(entry, data)
print(wheel)
