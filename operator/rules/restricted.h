// SPDX-License-Identifier: Apache-2.0
// Restricted: the expression of a rule (api/cel_rule.h) as the API server gets it.
//
// An API server offers more variables than `object`, whose values differ between the creation of a
// pod and a later question (api/rule_question.h). They are hidden by variables of the same names,
// so that an expression with one of them does not compile, or reads a constant.
#pragma once

#include <string>

namespace operator_ {

// CEL with the value of `expression`, which must compile alone. It may end in a comment.
inline std::string Restricted(const std::string& expression) {
  return "[0].all(request, [0].all(oldObject, [0].all(authorizer, [0].all(namespaceObject, (\n" +
         expression + "\n)))))";
}

}  // namespace operator_
