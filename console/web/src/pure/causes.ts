// SPDX-License-Identifier: Apache-2.0
// Causes in filters and addresses.

// In an address: pods without a cause that is known.
export const NO_CAUSE = "-";

export function causeText(name: string | undefined): string {
  return name === undefined || name === "" || name === NO_CAUSE ? "not known" : name;
}
