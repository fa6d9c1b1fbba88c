// SPDX-License-Identifier: Apache-2.0
#include "plugin/text/table.h"

#include <algorithm>
#include <utility>

#include "plugin/text/printable.h"

namespace plugin {
namespace {

constexpr size_t kGap = 3;

// In characters of UTF-8.
size_t WidthOf(const std::string& text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
}

std::string CsvCell(std::string text) {
  constexpr std::string_view kFormula = "=+-@";
  if (!text.empty() && kFormula.find(text.front()) != std::string_view::npos)
    text.insert(text.begin(), '\'');
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  for (size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2)
    text.insert(at, 1, '"');
  return '"' + text + '"';
}

}  // namespace

void Table::Add(Row row) {
  for (std::string& cell : row) cell = Printable(cell);
  row.resize(header_.size());
  rows_.push_back(std::move(row));
}

std::string Table::ToText() const {
  std::vector<size_t> widths(header_.size());
  auto measure = [&](const Row& row) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], WidthOf(row[i]));
  };
  measure(header_);
  for (const Row& row : rows_) measure(row);
  std::string text;
  auto write = [&](const Row& row) {
    for (size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text.append(widths[i] + kGap - WidthOf(row[i]), ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  };
  write(header_);
  for (const Row& row : rows_) write(row);
  return text;
}

std::string Table::ToCsv() const {
  std::string text;
  auto write = [&](const Row& row) {
    for (size_t i = 0; i < row.size(); ++i) text += (i == 0 ? "" : ",") + CsvCell(row[i]);
    text += "\r\n";
  };
  write(header_);
  for (const Row& row : rows_) write(row);
  return text;
}

}  // namespace plugin
