// SPDX-License-Identifier: Apache-2.0
// Disk: a folder on a tmpfs of its own, which can be filled.
//
//   Result<> own = EnterOwnMounts();
//   auto disk = Disk::Mount(folder + "/etcd", 1 << 30);
//   (*disk)->Fill();                // every write there fails with ENOSPC
//   (*disk)->Release();
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kube/base/error.h"

namespace e2e {

// Moves this process, which must not have threads yet, into a mount namespace of its own: its
// mounts are not seen outside and end with it. kPermissionDenied if that is not allowed. After
// EnterOwnNetwork(), which may make this user root of a user namespace.
kube::Result<> EnterOwnMounts();

class Disk {
 public:
  // Creates the folder, readable by its owner alone. Errors: kPermissionDenied.
  static kube::Result<std::unique_ptr<Disk>> Mount(const std::string& folder, uint64_t bytes);
  // Nothing may use it any more.
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  // Takes all of the room that is left. Errors: kUnavailable if some is left nevertheless.
  kube::Result<> Fill();
  // Gives it back; no effect if it is not filled.
  void Release();

 private:
  explicit Disk(std::string folder) : folder_(std::move(folder)) {}
  std::string file() const { return folder_ + "/filler"; }

  std::string folder_;
};

}  // namespace e2e
