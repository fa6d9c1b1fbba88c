#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# install.sh [--go] LIST... - installs the Debian packages in the files LIST: one per line, with #
# comments.
#
# --go also installs a Go toolchain. Does nothing, and needs no network, if everything is installed.
# Never removes a package (apt fails instead, for example because of another Docker or containerd),
# and starts no service, now or at boot.
set -euo pipefail

# Since this version Go downloads the toolchain that a go.mod requires (GOTOOLCHAIN=auto).
readonly oldest_go=1.21
readonly backports=/etc/apt/sources.list.d/bookworm-backports.sources
# Debian's policy for starting services on installation; 101 forbids it.
readonly start_policy=/usr/sbin/policy-rc.d

say() { printf '%s\n' "$*"; }

as_root() {
  if [[ $EUID -eq 0 ]]; then "$@"; else sudo "$@"; fi
}

# missing_packages NAME... - the packages that are not installed and that no installed package
# provides (for example, Docker's containerd.io provides runc).
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
  # Lists younger than a day may name versions that a security update has replaced.
  apt_install "${missing[@]}" || { as_root apt-get update --quiet && apt_install "${missing[@]}"; }
  # The tests start these as processes; Debian's services would use their ports after a reboot.
  local name
  for name in docker-registry prometheus; do
    if [[ " ${missing[*]} " == *" $name "* && -d /run/systemd/system ]]; then
      as_root systemctl disable --quiet "$name.service"
    fi
  done
}

go_fits() {
  command -v go >/dev/null || return 1
  local version
  version=$(GOTOOLCHAIN=local go env GOVERSION) && version=${version#go}
  [[ $(printf '%s\n' "$oldest_go" "$version" | sort -V | head -n 1) == "$oldest_go" ]]
}

install_go() {
  if go_fits; then
    say "go: using $(command -v go)"
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
