// SPDX-License-Identifier: Apache-2.0
// A labelled field of a form or filter.

import { useId } from "preact/hooks";

interface TextFieldProps {
  label: string;
  value: string;
  // While typing, or, with `isLate`, when the user has finished.
  onValue(value: string): void;
  isLate?: boolean;
  type?: "text" | "search" | "number";
  hint?: string;
  error?: string | undefined;
  options?: readonly string[];
  placeholder?: string;
  class?: string;
  isRequired?: boolean;
}

export function TextField(props: TextFieldProps) {
  const { label, value, onValue, isLate, type = "text", hint, error, options } = props;
  const id = useId();
  const take = (event: Event) => {
    const typed = (event.currentTarget as HTMLInputElement).value;
    // Not while typing: a space at the end is between two words soon.
    onValue(isLate ? typed.trim() : typed);
  };
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div class={`field ${props.class ?? ""}`}>
      <label for={id}>{label}</label>
      <input
        id={id}
        type={type}
        value={value}
        placeholder={props.placeholder}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        required={props.isRequired}
        list={options === undefined ? undefined : `${id}-options`}
        aria-invalid={error !== undefined}
        aria-describedby={described || undefined}
        onInput={isLate ? undefined : take}
        onChange={isLate ? take : undefined}
      />
      {options !== undefined && (
        <datalist id={`${id}-options`}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
      {hint !== undefined && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p id={`${id}-error`} class="field-error">
          {error}
        </p>
      )}
    </div>
  );
}

interface SelectFieldProps {
  label: string;
  value: string;
  options: readonly { value: string; text: string }[];
  onValue(value: string): void;
}

export function SelectField({ label, value, options, onValue }: SelectFieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
    </div>
  );
}
