// SPDX-License-Identifier: Apache-2.0
// Tables as CSV (RFC 4180), for spreadsheets.

// Spreadsheets run a cell that begins like this as a formula, and names are other people's text.
const FORMULA = /^[=+\-@\t\r]/;

export function csvCell(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function toCsv(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(csvCell).join(",")}\r\n`).join("");
}
