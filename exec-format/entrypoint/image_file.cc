// SPDX-License-Identifier: Apache-2.0
#include "exec-format/entrypoint/image_file.h"

namespace exec_format {

std::string_view Describe(FileOutcome outcome) {
  switch (outcome) {
    case FileOutcome::kFound:
      return "found";
    case FileOutcome::kNoCommand:
      return "no command";
    case FileOutcome::kNotFound:
      return "not found in any layer";
    case FileOutcome::kHidden:
      return "removed by a layer above";
    case FileOutcome::kLinkLoop:
      return "too many symbolic links or folders";
    case FileOutcome::kNotExecutable:
      return "not an executable file";
    case FileOutcome::kTooManyInterpreters:
      return "too many interpreters of interpreters";
    case FileOutcome::kTooManyBytes:
      return "not read: the layer is too large";
    case FileOutcome::kUnsupportedLayer:
      return "not read: the layer is of an unsupported type";
  }
  return "unknown";
}

}  // namespace exec_format
