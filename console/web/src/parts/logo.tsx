// SPDX-License-Identifier: Apache-2.0
// A pod between two architectures; the same drawing as favicon.svg.

export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
      <rect x="2" y="2" width="28" height="28" rx="7" class="logo-ground" />
      <path d="M16 6.5 24 11v10l-8 4.5L8 21V11z" class="logo-line" />
      <path d="M16 6.5 24 11v10l-8 4.5z" class="logo-half" />
    </svg>
  );
}
