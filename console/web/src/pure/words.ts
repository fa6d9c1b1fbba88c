// SPDX-License-Identifier: Apache-2.0
// Search in texts that are shown.

// All words of `wanted` are somewhere in `text`.
export function hasWords(text: string, wanted: string): boolean {
  const lower = text.toLowerCase();
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}
