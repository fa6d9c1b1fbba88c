#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Deletes from Bazel's disk cache what was not used for the longest time, down to a size.

  prune_cache.py FOLDER GIGABYTES

Bazel itself never deletes from it, and each change of a header that all include adds gigabytes. A
file that is missing is built again.
"""

import os
import sys

GIGABYTE = 1 << 30


def files_of(folder):
    """(last use, bytes, path) of each file."""
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            try:
                stat = os.lstat(path)
            except FileNotFoundError:
                continue  # Bazel renames what it writes
            # Linux writes the time of an access once a day only.
            yield max(stat.st_atime, stat.st_mtime), stat.st_size, path


def prune(folder, most_bytes):
    """Returns how many bytes were deleted."""
    files = sorted(files_of(folder))
    too_many = sum(size for _, size, _ in files) - most_bytes
    deleted = 0
    for _, size, path in files:
        if deleted >= too_many:
            break
        try:
            os.unlink(path)
        except FileNotFoundError:
            continue
        deleted += size
    return deleted


def main():
    folder, gigabytes = sys.argv[1:]
    deleted = prune(os.path.expanduser(folder), int(gigabytes) * GIGABYTE)
    if deleted:
        print(f"deleted {deleted / GIGABYTE:.1f} GB of {folder} that were not used lately")


if __name__ == "__main__":
    main()
