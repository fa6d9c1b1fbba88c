# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Of which programs there are images, and for what. Source it at the root of the repository.

# all_programs - the packages in programs.bzl, on one line.
all_programs() {
  sed -n 's/^_[A-Z]* = \[\(.*\)\]$/\1/p' bazel/images/programs.bzl | tr -d '",' | tr '\n' ' '
}

# other_architectures [ARCHITECTURE...] - those that the cross compilers build for, one a line: all
# by default, and never amd64, which is always built.
other_architectures() {
  if [[ $# -eq 0 ]]; then set -- arm64 ppc64le s390x; fi
  local architecture
  for architecture; do
    [[ $architecture == amd64 ]] || printf '%s\n' "$architecture"
  done
}
