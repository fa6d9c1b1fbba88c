#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh XML - runs kernel_watch_test with Debian's own kernel, in a virtual machine, and writes the
# results to the file XML. The monitor's BPF program depends on the kernel: its types, and whether
# it has cgroups of version 1 or 2. Needs no KVM: half a minute of emulation.
#
# POD_PLACEMENT_CACHE  the folder that has the kernel (~/.cache/pod-placement)
set -euo pipefail
cd "$(dirname "$0")/../../../.."

readonly package=linux-image-cloud-amd64
readonly test=exec-format/monitor/kernel/kernel_watch_test
readonly cache=${POD_PLACEMENT_CACHE:-$HOME/.cache/pod-placement}/kernels
readonly seconds=300
# Between them, the console has the results.
readonly begin=RESULTS-BEGIN end=RESULTS-END

die() {
  printf 'vm: %s\n' "$*" >&2
  exit 1
}

[[ $(uname -m) == x86_64 ]] || die "only for amd64"
third_party/install.sh exec-format/monitor/kernel/vm/packages.txt

# The package that $package depends on: one for each version. Its archive is not installed.
name=$(apt-cache depends "$package" | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p')
[[ -n $name ]] || die "Debian has no $package"
kernel=$cache/$name/vmlinuz
if [[ ! -f $kernel ]]; then
  printf 'vm: downloads %s\n' "$name"
  work=$(mktemp -d)
  (cd "$work" && apt-get download -q "$name" && dpkg-deb --extract ./*.deb files)
  mkdir -p "${kernel%/*}"
  mv "$work"/files/boot/vmlinuz-* "$kernel"
  rm -rf "$work"
fi

bazel build "//${test%/*}:${test##*/}"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,dev,proc,sys,tmp}
install "bazel-bin/$test" "$root/bin/test"
install "$(command -v busybox)" "$root/bin/busybox"
# Its shared libraries, at the paths where it looks for them.
ldd "bazel-bin/$test" | grep -o '/[^ ]*' | while read -r library; do
  install -D "$library" "$root$library"
done
cat >"$root/init" <<INIT
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t tmpfs tmp /tmp
/bin/busybox mount -t cgroup2 cgroup /sys/fs/cgroup
/bin/busybox --install -s /bin
export TEST_TMPDIR=/tmp GTEST_OUTPUT=xml:/tmp/results.xml
/bin/test
echo $begin
/bin/busybox cat /tmp/results.xml
echo $end
/bin/busybox poweroff -f
INIT
chmod +x "$root/init"
(cd "$root" && find . | cpio --quiet --create --format=newc | gzip --fast) >"$root.gz"
trap 'rm -rf "$root" "$root.gz" "$root.log"' EXIT

printf 'vm: runs %s with %s\n' "$test" "$name"
timeout "$seconds" qemu-system-x86_64 -accel tcg -cpu max -m 1024 -nographic -no-reboot \
  -kernel "$kernel" -initrd "$root.gz" \
  -append "console=ttyS0 quiet panic=-1 mitigations=off" </dev/null | tr -d '\r' >"$root.log" ||
  die "the machine did not end within $seconds s: $(tail -n 20 "$root.log")"
sed -n "/^$begin\$/,/^$end\$/p" "$root.log" | sed '1d;$d' >"$1"
[[ -s $1 ]] || die "no results: $(tail -n 20 "$root.log")"
# A skipped test would prove nothing here: this kernel allows it all.
! grep -q 'result="skipped"' "$1" || die "tests were skipped: $(grep 'result="skipped"' "$1")"
