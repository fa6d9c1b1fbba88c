#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# sysroot.sh ARCHITECTURE - the root folder of arm64, ppc64le or s390x for Debian's cross compiler:
# downloads the packages in ARCHITECTURE.lock, compares their SHA256, unpacks them, and prints the
# folder. Does nothing if the folder exists.
#
# sysroot.sh --lock - writes ARCHITECTURE.lock of each architecture anew, from packages.txt and
# Debian's signed package lists. One line for each package: NAME VERSION SHA256 PATH.
#
# DEBIAN_MIRROR        the mirror (http://deb.debian.org)
# POD_PLACEMENT_CACHE  the folder that has the sysroots (~/.cache/pod-placement)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly architectures=(arm64 ppc64le s390x)
# To be changed with what make_sysroot does.
readonly layout=2
readonly mirror=${DEBIAN_MIRROR:-http://deb.debian.org}
readonly cache=${POD_PLACEMENT_CACHE:-$HOME/.cache/pod-placement}/sysroots
work=

die() {
  printf 'sysroot: %s\n' "$*" >&2
  exit 1
}

# Debian's name of an architecture of Kubernetes.
debian_name() {
  case $1 in
    ppc64le) printf ppc64el ;;
    arm64 | s390x) printf %s "$1" ;;
    *) die "unknown architecture $1: use one of ${architectures[*]}" ;;
  esac
}

# The packages of packages.txt for architecture $1.
packages_of() {
  sed 's/#.*//' "$here/packages.txt" | while read -r name limit; do
    if [[ -n $name && (-z $limit || " ${limit//[][]/ } " == *" $1 "*) ]]; then
      printf '%s\n' "$name"
    fi
  done
}

# apt_get ARCHITECTURE ARGUMENT... - apt-get with lists of its own, for one other architecture.
apt_get() {
  local architecture=$1 root=$work/apt-$1
  shift
  mkdir -p "$root/lists/partial" "$root/cache/archives/partial"
  touch "$root/status"
  printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' \
    "$mirror/debian" bookworm "$mirror/debian" bookworm-updates \
    "$mirror/debian-security" bookworm-security >"$root/sources.list"
  apt-get -o APT::Architecture="$architecture" -o APT::Architectures::="$architecture" \
    -o APT::Sandbox::User="$(id -un)" \
    -o Dir::State="$root" -o Dir::State::lists="$root/lists" -o Dir::State::status="$root/status" \
    -o Dir::Cache="$root/cache" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::Etc::SourceList="$root/sources.list" -o Dir::Etc::PreferencesParts=/dev/null "$@"
}

write_lock() {
  local architecture=$1 debian lock=$here/$1.lock
  local -a names
  debian=$(debian_name "$architecture")
  mapfile -t names < <(packages_of "$architecture")
  apt_get "$debian" --quiet=2 update ||
    printf 'sysroot: %s: a list is missing, so the lock may name older versions\n' "$1" >&2
  {
    printf '# SPDX-License-Identifier: Apache-2.0\n'
    printf '# Written by sysroot.sh --lock: name, version, SHA256 and path of packages.\n'
    # 'URL' NAME_VERSION_ARCHITECTURE.deb SIZE SHA256:...
    apt_get "$debian" --print-uris download "${names[@]}" | tr -d "'" |
      while read -r url file _ hash; do
        IFS=_ read -r name version _ <<<"$file"
        printf '%s %s %s %s\n' "$name" "${version//%3a/:}" "${hash#SHA256:}" \
          "${url#"$mirror/"}"
      done | LC_ALL=C sort
  } >"$lock.new"
  [[ $(grep -vc '^#' "$lock.new") -eq ${#names[@]} ]] || die "packages are missing in $lock.new"
  mv "$lock.new" "$lock"
  printf 'wrote %s\n' "$lock"
}

# download PATH SHA256 FILE
download() {
  curl --fail --silent --show-error --location --retry 3 --output "$3" "$mirror/$1" ||
    die "cannot download $mirror/$1. If Debian has replaced this version: sysroot.sh --lock"
  printf '%s  %s\n' "$2" "$3" | sha256sum --check --status || die "$3: not the SHA256 of the lock"
}

# unpack PACKAGE ROOT - the files, and what dpkg-query needs to know about the package.
unpack() {
  local package=$1 root=$2 name
  name=$(dpkg-deb --field "$package" Package)
  dpkg-deb --fsys-tarfile "$package" |
    tar --extract --directory="$root" --keep-directory-symlink --no-same-owner \
      --exclude='./usr/share/man' --exclude='./usr/share/doc/*/examples' --file=-
  dpkg-deb --fsys-tarfile "$package" | tar --list --file=- |
    sed -e 's|^\.||' -e 's|/$||' -e 's|^$|/.|' >"$root/var/lib/dpkg/info/$name.list"
  dpkg-deb --field "$package" | sed '/^Package:/a Status: install ok installed' \
    >>"$root/var/lib/dpkg/status"
  printf '\n' >>"$root/var/lib/dpkg/status"
}

make_sysroot() {
  local architecture=$1 sysroot=$2 root=$work/root folder
  mkdir -p "$work/packages" "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
  # As Debian is since usrmerge.
  for folder in lib lib64; do
    mkdir -p "$root/usr/$folder"
    ln -s "usr/$folder" "$root/$folder"
  done
  printf 'sysroot: downloading and unpacking the packages of %s\n' "$architecture" >&2
  while read -r name _ hash path; do
    download "$path" "$hash" "$work/packages/$name.deb"
    unpack "$work/packages/$name.deb" "$root"
    rm "$work/packages/$name.deb"
  done < <(grep -v '^#' "$here/$architecture.lock")
  # An absolute link would lead out of the folder.
  find "$root" -lname '/*' -printf '%p %l\n' | while read -r link target; do
    ln -sf --no-target-directory --relative "$root$target" "$link"
  done
  # Another run may have made the same folder.
  mv --no-target-directory "$root" "$sysroot" 2>/dev/null || [[ -d $sysroot ]] ||
    die "cannot create $sysroot"
}

main() {
  [[ $# -eq 1 ]] || die "usage: sysroot.sh ARCHITECTURE | --lock"
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/.work.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  if [[ $1 == --lock ]]; then
    local architecture
    for architecture in "${architectures[@]}"; do write_lock "$architecture"; done
    return
  fi
  debian_name "$1" >/dev/null
  local hash sysroot
  hash=$({ echo "$layout" && cat "$here/$1.lock"; } | sha256sum | cut -c 1-12)
  sysroot=$cache/$1-$hash
  [[ -d $sysroot ]] || make_sysroot "$1" "$sysroot"
  printf '%s\n' "$sysroot"
}

main "$@"
