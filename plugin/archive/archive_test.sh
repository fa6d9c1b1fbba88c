#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The archive has all that the program needs, and krew's manifest the archive's checksum.
set -euo pipefail

readonly archive=plugin/archive/kubectl-placement.tar.gz
failures=0
check() {
  if ! "${@:2}"; then
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
  fi
}

mkdir "$TEST_TMPDIR/unpacked"
tar -xzf "$archive" -C "$TEST_TMPDIR/unpacked"
cd "$TEST_TMPDIR/unpacked"
# As krew links it.
mkdir bin
ln -s ../kubectl-placement bin/kubectl-placement
check "it starts" env -i PATH=/usr/bin:/bin bin/kubectl-placement --version
libraries=$(lib/ld-linux* --library-path "$PWD/lib" --list lib/kubectl-placement)
# linux-vdso is the kernel's.
outside=$(grep -v "$PWD/lib/\|linux-vdso\|=> lib/ld" <<<"$libraries" || true)
check "every library is its own: $outside" test -z "$outside"
completed=$(PATH=$PWD/bin:$PATH ./kubectl_complete-placement sim)
check "completion" test "$completed" = $'simulate\n:4'
cd - >/dev/null

cp "$archive" "$TEST_TMPDIR/kubectl-placement_linux_s390x.tar.gz"
manifest=$(plugin/archive/krew_manifest.py --version 1.2.3 --uri https://example.com/v1.2.3 \
  "$TEST_TMPDIR/kubectl-placement_linux_s390x.tar.gz")
sum=$(sha256sum "$archive" | cut -d' ' -f1)
check "the checksum" grep -q "sha256: $sum" <<<"$manifest"
# krew moves what a rule matches, folders too: a second rule would find nothing.
check "one rule moves all files" test "$(grep -A 9 files: <<<"$manifest" | grep -c from:)" = 1
check "the architecture" grep -q "arch: s390x" <<<"$manifest"
check "the address" grep -q \
  "uri: https://example.com/v1.2.3/kubectl-placement_linux_s390x.tar.gz" <<<"$manifest"
exit "$failures"
