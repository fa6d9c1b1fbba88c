// SPDX-License-Identifier: Apache-2.0
// Timeline: the values that something had, by time and version.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/checker/commit.h"

namespace sim::checker {

template <typename T>
class Timeline {
 public:
  // The value before the first change.
  explicit Timeline(T initial = {}) { changes_.push_back({Time::min(), 0, std::move(initial)}); }

  struct Change {
    Time at;
    uint64_t version;
    T value;
  };

  void Set(const Commit& commit, T value) {
    changes_.push_back({commit.at, commit.version, std::move(value)});
  }

  const T& Latest() const { return changes_.back().value; }
  const std::vector<Change>& changes() const { return changes_; }

  // The index of the value in force when the store was at `version`.
  size_t IndexAt(uint64_t version) const {
    size_t index = changes_.size() - 1;
    while (index > 0 && changes_[index].version > version) --index;
    return index;
  }
  // The values in force at some time from `from` to the version `to`, the oldest first.
  std::vector<const T*> During(Time from, uint64_t to) const {
    size_t index = IndexAt(to);
    std::vector<const T*> values = {&changes_[index].value};
    while (index > 0 && changes_[index].at > from)
      values.insert(values.begin(), &changes_[--index].value);
    return values;
  }

 private:
  std::vector<Change> changes_;
};

}  // namespace sim::checker
