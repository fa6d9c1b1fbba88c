#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_answers.py NATIVE COMMAND...: runs the webhook as NATIVE and as COMMAND (for example,
qemu-s390x with a webhook for s390x), sends every request of webhook/testdata to both over TLS, and
compares the answers byte by byte.
"""

import glob
import os
import re
import ssl
import subprocess
import sys
import tempfile
import urllib.request

HERE = os.path.dirname(os.path.realpath(__file__))
# The gate of a webhook -> its flags and the path of its requests.
GATES = {
    "cluster": (["--gate=cluster"], "/add-pod-scheduling-gate"),
    "local": (["--gate=local", "--namespace=web"], "/local/prefs"),
}


def make_certificate(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1", "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", f"{folder}/tls.key", "-out",
         f"{folder}/tls.crt"], check=True, capture_output=True)
    return ssl.create_default_context(cafile=f"{folder}/tls.crt")


def answers(command, gate, folder, trust):
    """{name of a request: answer}."""
    flags, path = GATES[gate]
    with subprocess.Popen(
            [*command, *flags, f"--cert-dir={folder}", "--address=127.0.0.1:0",
             "--health-address=127.0.0.1:0", "--drain-delay=0s"],
            stderr=subprocess.PIPE, text=True) as process:
        seen = ""
        while not (found := re.search(r"on port (\d+); health on port \d+\n", seen)):
            line = process.stderr.readline()
            if not line:
                raise SystemExit(f"{' '.join(command)} ended: {seen}")
            seen += line
        result = {}
        for file in sorted(glob.glob(f"{HERE}/testdata/{gate}_*.input.json")):
            with open(file, "rb") as body:
                request = urllib.request.Request(
                    f"https://127.0.0.1:{found[1]}{path}", body.read(),
                    {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, context=trust, timeout=60) as response:
                result[os.path.basename(file)] = response.read()
        process.terminate()
        process.communicate(timeout=60)
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
        return result


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    native, other = sys.argv[1:2], sys.argv[2:]
    compared = 0
    with tempfile.TemporaryDirectory() as folder:
        trust = make_certificate(folder)
        for gate in GATES:
            wanted, got = (answers(c, gate, folder, trust) for c in (native, other))
            for name in wanted:
                if got[name] != wanted[name]:
                    raise SystemExit(f"{name}: {got[name]} instead of {wanted[name]}")
            compared += len(wanted)
    if compared == 0:
        raise SystemExit("no requests in webhook/testdata")
    print(f"webhook: {compared} answers over TLS are those of the native program")


if __name__ == "__main__":
    main()
