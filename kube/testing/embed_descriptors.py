#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the C++ source of kube::ApiDescriptors(): the descriptor sets of the given files."""

import sys


def main():
    # Sets are joined by joining their bytes.
    joined = b""
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            joined += file.read()
    print("// SPDX-License-Identifier: Apache-2.0")
    print('#include "kube/testing/descriptors.h"')
    print("namespace kube {")
    print("namespace {")
    print("constexpr unsigned char kDescriptors[] = {")
    for begin in range(0, len(joined), 20):
        print(",".join(str(byte) for byte in joined[begin:begin + 20]) + ",")
    print("};")
    print("}  // namespace")
    print("std::string_view ApiDescriptors() {")
    print("  return {reinterpret_cast<const char*>(kDescriptors), sizeof kDescriptors};")
    print("}")
    print("}  // namespace kube")


if __name__ == "__main__":
    main()
