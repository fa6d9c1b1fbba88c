// SPDX-License-Identifier: Apache-2.0
// ExecError: an execve() or execveat() that returned ENOEXEC, on the whole node.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace exec_format {

// Text of a tenant: any bytes, cut to the lengths of exec_error_record.h.
struct ExecError {
  // What the caller named: relative to a folder that is not known, if it is not absolute. "" if it
  // could not be read.
  std::string path;
  // The name of the cgroup of the process, then of the one around it, and so on to the root, which
  // is left out. The last ones are missing if there are more than EXEC_ERROR_CGROUPS; then `whole`
  // is false.
  std::vector<std::string> cgroups;
  bool whole = true;
  // The first bytes of the file that the kernel has tried last: of a script, of its interpreter. ""
  // for an empty file; nullopt if the kernel does not tell.
  std::optional<std::string> head = std::nullopt;
};

}  // namespace exec_format
