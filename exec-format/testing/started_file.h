// SPDX-License-Identifier: Apache-2.0
// Files that are started on this machine, in cgroups of this machine, for tests of what the kernel
// says about them.
#pragma once

#include <filesystem>
#include <string>

namespace exec_format {

// A file that its owner may execute, in a folder that is made for it. Returns its path.
std::string WriteExecutable(const std::filesystem::path& folder, const std::string& name,
                            const std::string& content);

// Of a machine that is none of the project's architectures.
std::string ForeignElf();

// The folder of the root cgroup of the controller pids; "" if it cannot be written.
std::filesystem::path CgroupRoot();

enum class Call { kExecve, kExecveat };
// Returns: errno of the call in a child process, in the cgroup with this folder unless it is "".
int Start(const std::string& path, Call call = Call::kExecve,
          const std::filesystem::path& cgroup = {});

}  // namespace exec_format
