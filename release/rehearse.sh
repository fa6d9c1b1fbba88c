#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# rehearse.sh XML - makes a release of this tree, pushes it to the registry of the kind cluster
# twice, with a key made for it, and checks it there. The results are written to XML.
#
# ARCHITECTURES  of the release (amd64)
# REPRODUCE      what is built twice: links, full or no (links)
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=../e2e/cluster/env.sh
. e2e/cluster/env.sh

xml=$(realpath "$1")
version=$(cat VERSION)
registry=$(cat "$STATE/registry")/placement
work=$(mktemp -d)
trap 'gpgconf --kill all; rm -rf "$work"' EXIT

export GNUPGHOME=$work/gnupg
mkdir -m 700 "$GNUPGHOME"
gpg --batch --quiet --passphrase '' --quick-generate-key rehearsal@example.com ed25519 sign never
gpg --export rehearsal@example.com >"$work/keyring.gpg"

in_cluster() { e2e/cluster/with-cluster.sh release/with-tools.sh "$@"; }

release/make_release.py --snapshot --version="$version" --out="$work/out" --registry="$registry" \
  --architectures="${ARCHITECTURES:-amd64}" --reproduce="${REPRODUCE:-links}" \
  --pgp-key=rehearsal@example.com --pgp-key-url=https://registry.example.com/rehearsal.asc
export COSIGN_PASSWORD=rehearsal
(cd "$work" && "$BIN/cosign" generate-key-pair)
# What another rehearsal has pushed: a tag of a release never changes.
rm -rf "$STATE/registry-storage/docker/registry/v2/repositories/placement"
# Other tests and the demo leave the operator on the cluster.
bazel run --run_under="$PWD/e2e/cluster/with-cluster.sh" //operator:undeploy
for _ in first second; do
  in_cluster release/push.py "$work/out" --key="$work/cosign.key" --insecure --no-transparency-log
done
in_cluster release/check.py --registry="$registry" --version="$version" --key="$work/cosign.pub" \
  --keyring="$work/keyring.gpg" --insecure --no-transparency-log --xml="$xml"
