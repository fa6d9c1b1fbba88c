// SPDX-License-Identifier: Apache-2.0
#include "e2e/chaos/stage/disk.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace e2e {

using kube::Error;
using kube::Ok;
using kube::Result;

Result<> EnterOwnMounts() {
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return Error::PermissionDenied(std::string("cannot make a mount namespace: ") +
                                   std::strerror(errno));
  }
  return Ok();
}

Result<std::unique_ptr<Disk>> Disk::Mount(const std::string& folder, uint64_t bytes) {
  std::error_code ec;
  std::filesystem::create_directories(folder, ec);
  const std::string options = "mode=0700,size=" + std::to_string(bytes);
  if (ec || mount("tmpfs", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
    return Error::PermissionDenied("cannot mount " + folder + ": " + std::strerror(errno));
  return std::unique_ptr<Disk>(new Disk(folder));
}

Disk::~Disk() { umount2(folder_.c_str(), MNT_DETACH); }

Result<> Disk::Fill() {
  int fd = open(file().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return Error::Unavailable(file() + ": " + std::strerror(errno));
  int failed = 0;
  off_t size = 0;
  // tmpfs keeps what a failed allocation had taken only as whole steps, so these become smaller.
  for (off_t step : {off_t{16} << 20, off_t{1} << 20, off_t{64} << 10, off_t{4} << 10}) {
    while ((failed = posix_fallocate(fd, size, step)) == 0) size += step;
  }
  close(fd);
  if (failed != ENOSPC) return Error::Unavailable("fill " + folder_ + ": " + std::strerror(failed));
  return Ok();
}

void Disk::Release() { unlink(file().c_str()); }

}  // namespace e2e
