#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh [ARCHITECTURE...] - builds the archives of kubectl-placement for this machine and for
# these architectures (all by default), and the manifest for krew.
#
# DIST          the folder for them, which is made anew (dist)
# RELEASE_URI   the folder that will serve the archives
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=../../bazel/images/programs.sh
. bazel/images/programs.sh

dist=${DIST:-dist}
uri=${RELEASE_URI:-https://github.com/OWNER/REPOSITORY/releases/download/v$(cat VERSION)}
rm -rf "$dist"
mkdir -p "$dist"
bazel build //plugin/archive
install -m 644 bazel-bin/plugin/archive/kubectl-placement.tar.gz \
  "$dist/kubectl-placement_linux_amd64.tar.gz"
for architecture in $(other_architectures "$@"); do
  third_party/cross/sysroot.sh "$architecture" >/dev/null
  bazel build --config="$architecture" //plugin/archive
  install -m 644 "bazel-out/$architecture-opt/bin/plugin/archive/kubectl-placement.tar.gz" \
    "$dist/kubectl-placement_linux_$architecture.tar.gz"
done
plugin/archive/krew_manifest.py --version "$(cat VERSION)" --uri "$uri" "$dist"/*.tar.gz \
  >"$dist/placement.yaml"
ls -l "$dist"
