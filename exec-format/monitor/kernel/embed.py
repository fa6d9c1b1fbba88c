#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a compiled BPF program as C++: the definition of exec_format::ProgramBytes().

  embed.py OBJECT OUTPUT
"""

import sys

BYTES_OF_LINE = 24


def main():
    source, output = sys.argv[1:]
    with open(source, "rb") as file:
        content = file.read()
    lines = ["// SPDX-License-Identifier: Apache-2.0",
             "#include \"exec-format/monitor/kernel/program_bytes.h\"", "",
             "namespace exec_format {", "", "std::string_view ProgramBytes() {",
             # libbpf reads structures in place.
             "  alignas(8) static constexpr char kBytes[] ="]
    for at in range(0, len(content), BYTES_OF_LINE):
        # Octal: a hexadecimal escape has no end.
        escaped = "".join(f"\\{byte:03o}" for byte in content[at:at + BYTES_OF_LINE])
        lines.append(f"      \"{escaped}\"")
    lines += ["      ;", "  return {kBytes, sizeof(kBytes) - 1};", "}", "",
              "}  // namespace exec_format", ""]
    with open(output, "w", encoding="utf-8") as out:
        out.write("\n".join(lines))


main()
