#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts the program with the loader and the libraries of this folder: it runs on every Linux.
here=$(dirname "$(readlink -f "$0")")/lib
for loader in "$here"/ld*.so*; do
  exec "$loader" --library-path "$here" "$here/kubectl-placement" "$@"
done
echo "kubectl-placement: $here is incomplete" >&2
exit 1
