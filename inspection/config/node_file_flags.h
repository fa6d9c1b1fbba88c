// SPDX-License-Identifier: Apache-2.0
// NodeFileFlags: the flags that name files of a node (api/node_file_flags.h), for every binary that
// reads them.
#pragma once

#include "inspection/config/node_files.h"

namespace inspection {

NodeFilePaths NodeFilesFromFlags();

}  // namespace inspection
