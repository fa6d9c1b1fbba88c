// SPDX-License-Identifier: Apache-2.0
// Saves a text as a file of the user.

export function saveFile(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // Browsers read the address after the click has ended.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
