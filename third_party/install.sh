#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# install.sh [--go] LIST... - installs the Debian packages named in the files LIST, one a line, #
# for comments.
#
# --go sees to a Go toolchain as well. Does nothing, and needs no network, when everything is there
# already. Nothing is ever removed or started: a machine with another Docker or containerd keeps it
# (apt gives up instead), and no service of the new packages runs or starts at boot.
set -euo pipefail

# From this version on, Go fetches the newer toolchain that a go.mod asks for by itself
# (GOTOOLCHAIN=auto).
readonly oldest_go=1.21
readonly backports=/etc/apt/sources.list.d/bookworm-backports.sources
# Debian's hook for "may this service start?"; 101 means no.
readonly start_policy=/usr/sbin/policy-rc.d

say() { printf '%s\n' "$*"; }

as_root() {
  if [[ $EUID -eq 0 ]]; then "$@"; else sudo "$@"; fi
}

# missing_packages NAME... - those that are not installed, neither themselves nor by a package that
# provides them (Docker's containerd.io provides runc, for one).
missing_packages() {
  # shellcheck disable=SC2016  # the ${...} are dpkg-query's
  dpkg-query --show --showformat='${db:Status-Status}|${Package}, ${Provides}\n' |
    awk -F'|' -v wanted="$*" '
    $1 == "installed" {
      gsub(/ *\([^)]*\)/, "", $2)
      count = split($2, names, /, */)
      for (i = 1; i <= count; i++) have[names[i]] = 1
    }
    END {
      count = split(wanted, names, " ")
      for (i = 1; i <= count; i++) if (!(names[i] in have)) print names[i]
    }'
}

apt_lists_are_fresh() {
  local lists=/var/lib/apt/lists
  [[ -n $(find "$lists" -maxdepth 1 -name '*Packages*' -mmin -1440 -print -quit 2>/dev/null) ]]
}

apt_install() {
  local own_policy=
  if [[ ! -e $start_policy ]]; then
    own_policy=yes
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$start_policy" >/dev/null
    as_root chmod 755 "$start_policy"
  fi
  local status=0
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install --yes --quiet --no-install-recommends --no-remove \
    -o Dpkg::Options::=--force-confold -o Dpkg::Use-Pty=0 "$@" || status=$?
  [[ -z $own_policy ]] || as_root rm -f "$start_policy"
  return "$status"
}

install_packages() {
  local -a missing
  mapfile -t missing < <(missing_packages "$@")
  if [[ ${#missing[@]} -eq 0 ]]; then
    say "packages: all $# are installed"
    return
  fi
  say "packages: installing ${#missing[@]} of $#: ${missing[*]}"
  apt_lists_are_fresh || as_root apt-get update --quiet
  # The lists may be younger than a day and still name versions that a security update has replaced
  # since.
  apt_install "${missing[@]}" || { as_root apt-get update --quiet && apt_install "${missing[@]}"; }
  # We run the registry as a process of our own; Debian's service would take port 5000 from the next
  # boot on.
  if [[ " ${missing[*]} " == *" docker-registry "* && -d /run/systemd/system ]]; then
    as_root systemctl disable --quiet docker-registry.service
  fi
}

go_fits() {
  command -v go >/dev/null || return 1
  local version
  version=$(GOTOOLCHAIN=local go env GOVERSION) && version=${version#go}
  [[ $(printf '%s\n' "$oldest_go" "$version" | sort -V | head -n 1) == "$oldest_go" ]]
}

install_go() {
  if go_fits; then
    say "go: $(command -v go) will do"
    return
  fi
  # shellcheck source=/dev/null
  if [[ $(. /etc/os-release && printf %s "${VERSION_CODENAME:-}") != bookworm ]]; then
    say "go: install Go $oldest_go or newer first; this script can install it on Debian 12 only" >&2
    return 1
  fi
  say "go: installing from bookworm-backports"
  if ! grep -qrs bookworm-backports /etc/apt/sources.list /etc/apt/sources.list.d; then
    printf '%s\n' 'Types: deb' 'URIs: http://deb.debian.org/debian' \
      'Suites: bookworm-backports' 'Components: main' \
      'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg' |
      as_root tee "$backports" >/dev/null
  fi
  as_root apt-get update --quiet
  apt_install --target-release bookworm-backports golang-go
  go_fits
}

main() {
  local want_go=
  if [[ ${1:-} == --go ]]; then
    want_go=yes
    shift
  fi
  if [[ $# -eq 0 && -z $want_go ]]; then
    say "usage: install.sh [--go] LIST..." >&2
    return 2
  fi
  local -a names=()
  [[ $# -eq 0 ]] ||
    mapfile -t names < <(sed 's/#.*//' "$@" | tr -s '[:space:]' '\n' | grep . | sort -u)
  [[ ${#names[@]} -eq 0 ]] || install_packages "${names[@]}"
  [[ -z $want_go ]] || install_go
}

main "$@"
