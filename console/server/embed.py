#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes files as C++: the definition of console::StaticFiles().

  embed.py OUTPUT FILE...
"""

import gzip
import hashlib
import os
import sys

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
BYTES_OF_LINE = 24


def literal(content):
    """The bytes as string literals, a line each."""
    for at in range(0, len(content), BYTES_OF_LINE):
        # Octal: a hexadecimal escape has no end.
        yield "    \"" + "".join(f"\\{byte:03o}" for byte in content[at:at + BYTES_OF_LINE]) + "\""


def main():
    output, *files = sys.argv[1:]
    lines = ["// SPDX-License-Identifier: Apache-2.0",
             "#include \"console/server/static_files.h\"", "",
             "namespace console {", "", "std::span<const StaticFile> StaticFiles() {",
             "  static constexpr StaticFile kFiles[] = {"]
    for path in sorted(files):
        with open(path, "rb") as file:
            # Without time and name: equal files give equal programs.
            content = gzip.compress(file.read(), mtime=0)
        name = os.path.basename(path)
        url = "/" if name == "index.html" else "/" + name
        etag = hashlib.sha256(content).hexdigest()[:16]
        lines += [f"      {{\"{url}\", \"{TYPES[os.path.splitext(name)[1]]}\", "
                  f"\"\\\"{etag}\\\"\",", "       {", *literal(content),
                  f"           , {len(content)}}}}},"]
    lines += ["  };", "  return kFiles;", "}", "", "}  // namespace console", ""]
    with open(output, "w", encoding="utf-8") as out:
        out.write("\n".join(lines))


main()
