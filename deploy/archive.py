# SPDX-License-Identifier: Apache-2.0
"""A .tgz whose bytes depend on its files alone: it has no times and no owners."""

import gzip
import io
import tarfile


def tgz(files, folder="", first=""):
    """The archive of `files`, which are contents by name, in the order of their names.

    `folder` is put before the names; the file `first` is the first one.
    """
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as compressed:
        with tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name in sorted(files, key=lambda name: (name != first, name)):
                entry = tarfile.TarInfo(f"{folder}/{name}" if folder else name)
                entry.size, entry.mode = len(files[name]), 0o644
                tar.addfile(entry, io.BytesIO(files[name]))
    return buffer.getvalue()
