#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bazel run //operator:push -- REGISTRY [--insecure], or //fleet:push: copies the images to
# REGISTRY, for all architectures that are built. Their tags are the version and one that is derived
# from the content. The target passes the packages of the programs before these arguments,
# comma-separated.
set -euo pipefail

IFS=, read -r -a packages <<<"$1"
shift
if [[ $# -lt 1 || $1 == -* ]]; then
  echo "usage: bazel run //${packages[0]%%/*}:push -- REGISTRY [--insecure]" >&2
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
for package in "${packages[@]}"; do
  # shellcheck disable=SC1090
  source "$package/index.ref"
  echo "pushing $registry/$NAME:$TAG and :$VERSION ($ARCHITECTURES)"
  for tag in "$TAG" "$VERSION"; do
    skopeo copy --all --quiet --insecure-policy --dest-tls-verify="$verify" \
      "oci-archive:$package/index.tar" "docker://$registry/$NAME:$tag"
  done
  if [[ $ARCHITECTURES != *,* ]]; then single=$ARCHITECTURES; fi
done
if [[ -n $single ]]; then
  echo "Only images for $single were built: the programs will run on nodes of this architecture" \
    "only. To build the others as well, run \`make images\` before."
fi
