// SPDX-License-Identifier: Apache-2.0
// Table: rows for people, aligned as kubectl does, and as CSV (RFC 4180).
#pragma once

#include <string>
#include <vector>

namespace plugin {

class Table {
 public:
  using Row = std::vector<std::string>;

  explicit Table(Row header) : header_(std::move(header)) {}
  // As many cells as the header has. They may have text of other people.
  void Add(Row row);
  bool empty() const { return rows_.empty(); }

  std::string ToText() const;
  // A cell that a spreadsheet would take for a formula begins with an apostrophe.
  std::string ToCsv() const;

 private:
  Row header_;
  std::vector<Row> rows_;
};

}  // namespace plugin
