# SPDX-License-Identifier: Apache-2.0
"""The signature of a packed Helm chart, which `helm verify` and `helm install --verify` read: the
chart's metadata and checksum, signed with a PGP key (https://helm.sh/docs/topics/provenance/).
"""

import hashlib
import subprocess

import yaml

import oci_store


def _gpg(*arguments, data=b""):
    done = subprocess.run(["gpg", "--batch", *arguments], check=False, input=data,
                          capture_output=True)
    if done.returncode != 0:
        raise SystemExit(f"release: gpg: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def fingerprint_of(key):
    """The fingerprint of a key that gpg has, by its name or ID."""
    listing = _gpg("--list-secret-keys", "--with-colons", key).decode()
    return next(line.split(":")[9] for line in listing.splitlines() if line.startswith("fpr:"))


def sign(archive, name, key):
    """The .prov file of the chart `archive`, whose file is `name`."""
    checksum = hashlib.sha256(archive).hexdigest()
    message = (yaml.safe_dump(oci_store.chart_metadata(archive)) + "\n...\n" +
               yaml.safe_dump({"files": {name: f"sha256:{checksum}"}}))
    return _gpg("--local-user", key, "--digest-algo=SHA512", "--clearsign", data=message.encode())
