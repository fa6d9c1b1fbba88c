#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bazel run //operator:push -- REGISTRY [--insecure]: copies the four images to REGISTRY, for all
# architectures that are built. Their tags are the version and one that is derived from the content.
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

single=
for image in operator webhook shard cluster-controller; do
  # shellcheck disable=SC1090
  source "$image/index.ref"
  echo "pushing $registry/$NAME:$TAG and :$VERSION ($ARCHITECTURES)"
  for tag in "$TAG" "$VERSION"; do
    skopeo copy --all --quiet --insecure-policy --dest-tls-verify="$verify" \
      "oci-archive:$image/index.tar" "docker://$registry/$NAME:$tag"
  done
  if [[ $ARCHITECTURES != *,* ]]; then single=$ARCHITECTURES; fi
done
if [[ -n $single ]]; then
  echo "Only images for $single were built: the operator will run on nodes of this architecture" \
    "only. To build the others as well, run \`make images\` before."
fi
