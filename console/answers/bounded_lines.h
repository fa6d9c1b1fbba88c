// SPDX-License-Identifier: Apache-2.0
// BoundedLines: a list of an answer, within a budget in bytes of JSON: in all, and of a namespace a
// quarter of it unless that namespace alone is asked for. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "kube/types/unstructured.h"
#include "plugin/report/fair_bytes.h"

namespace console {

// `ns`: the namespace that is asked for; "" for all.
inline plugin::ByteBudget BudgetFor(size_t in_all, const std::string& ns) {
  return {.in_all = in_all, .of_namespace = ns.empty() ? in_all / 4 : in_all};
}

class BoundedLines {
 public:
  explicit BoundedLines(plugin::ByteBudget budget) : budget_(budget) {}

  // `ns`: of the object that the line is about.
  void Add(const std::string& ns, const kube::Json& line) {
    const std::string text = kube::DumpJson(line);
    if (!budget_.Take(ns, text.size())) {
      ++left_out_;
      return;
    }
    lines_ += (lines_.empty() ? "" : ",") + text;
  }

  size_t left_out() const { return left_out_; }
  // A JSON array.
  std::string Text() const { return "[" + lines_ + "]"; }

 private:
  plugin::FairBytes budget_;
  std::string lines_;
  size_t left_out_ = 0;
};

// The text of `object`, which has members, and of one more member.
inline std::string WithMember(std::string object, const std::string& name,
                              const std::string& value) {
  object.pop_back();
  return object + ",\"" + name + "\":" + value + "}";
}

}  // namespace console
