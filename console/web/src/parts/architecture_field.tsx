// SPDX-License-Identifier: Apache-2.0
// Which architecture is asked about: a known one, or another that is typed.

import { TextField } from "./field";

export const ARCHITECTURES = ["amd64", "arm64", "ppc64le", "s390x", "riscv64"] as const;

interface ArchitectureFieldProps {
  value: string;
  onValue(value: string): void;
}

export function ArchitectureField({ value, onValue }: ArchitectureFieldProps) {
  return (
    <TextField
      label="Architecture"
      class="field-short"
      value={value}
      options={ARCHITECTURES}
      isLate
      onValue={onValue}
    />
  );
}
