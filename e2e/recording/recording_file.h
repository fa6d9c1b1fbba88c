// SPDX-License-Identifier: Apache-2.0
// A recording on disk: JSON lines. The first line has the version of the format, each other line a
// commit, a gap or a refused write. `before` is only written where the commits before do not show
// it.
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <tuple>

#include "e2e/recording/recorded.h"
#include "kube/base/error.h"

namespace e2e {

// Writes a recording in parts.
class RecordingWriter {
 public:
  // `out` outlives it.
  explicit RecordingWriter(std::ostream& out);
  void Write(const Recorded& recorded);

 private:
  using Id = std::tuple<std::string, std::string, kube::ObjectKey>;  // group, plural, key

  std::ostream& out_;
  // The latest state of each object that was written.
  std::map<Id, sim::checker::JsonRef> latest_;
};

// Errors: kNotFound if there is no such file, kInvalid with the number of the line. An incomplete
// last line, from a process that was killed, is ignored.
kube::Result<Recorded> ReadRecording(const std::string& path);

}  // namespace e2e
