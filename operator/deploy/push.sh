#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bazel run //operator:push -- REGISTRY [--insecure]: copies the four images to REGISTRY, with tags
# from their digests.
set -euo pipefail

if [[ $# -lt 1 || $1 == -* ]]; then
  echo "usage: bazel run //operator:push -- REGISTRY [--insecure]" >&2
  exit 2
fi
registry=$1
verify=true
if [[ ${2:-} == --insecure ]]; then verify=false; fi
if ! command -v skopeo >/dev/null; then
  echo "push: skopeo is not installed (third_party/install.sh installs it)" >&2
  exit 1
fi

for image in operator webhook shard cluster-controller; do
  # shellcheck disable=SC1090
  source "$image/image.ref"
  echo "pushing $registry/$NAME:$TAG"
  skopeo copy --quiet --insecure-policy --dest-tls-verify="$verify" \
    "oci-archive:$image/image.tar" "docker://$registry/$NAME:$TAG"
done
