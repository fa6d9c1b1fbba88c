// SPDX-License-Identifier: Apache-2.0
// The token of the user. sessionStorage alone keeps it: it ends with the tab, and no other tab
// has it.

const KEY = "pod-placement-console.token";
const FRAGMENT = "#token=";

export function readToken(): string {
  return sessionStorage.getItem(KEY) ?? "";
}

export function keepToken(token: string): void {
  sessionStorage.setItem(KEY, token);
}

export function forgetToken(): void {
  sessionStorage.removeItem(KEY);
}

// Takes the token from an address that ends with #token=..., and removes it from there at once:
// addresses are kept in the history, and copied.
export function takeTokenFromAddress(): void {
  if (!location.hash.startsWith(FRAGMENT)) return;
  let token = location.hash.slice(FRAGMENT.length);
  history.replaceState(null, "", location.pathname + location.search);
  try {
    token = decodeURIComponent(token);
  } catch {
    // Not encoded: taken as it is.
  }
  if (token.trim() !== "") keepToken(token.trim());
}
