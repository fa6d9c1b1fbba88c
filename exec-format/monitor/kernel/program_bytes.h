// SPDX-License-Identifier: Apache-2.0
// The compiled exec_errors.bpf.c, an ELF file.
#pragma once

#include <string_view>

namespace exec_format {

std::string_view ProgramBytes();

}  // namespace exec_format
