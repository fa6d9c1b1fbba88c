// SPDX-License-Identifier: Apache-2.0
// The namespace that all pages show.

interface NamespacePickerProps {
  namespace: string;
  namespaces: readonly string[];
  canList: boolean;
  onNamespace(namespace: string): void;
}

export function NamespacePicker(props: NamespacePickerProps) {
  const { namespace, namespaces, canList, onNamespace } = props;
  const take = (event: Event) =>
    onNamespace((event.currentTarget as HTMLInputElement).value.trim().toLowerCase());
  // A choice in the list counts at once. Typed text counts with Enter, or when the field is left.
  const takeChoice = (event: InputEvent) => {
    const isChoice = event.inputType === undefined || event.inputType === "insertReplacementText";
    if (isChoice) take(event);
  };
  return (
    <div class="namespace">
      <label for="namespace">Namespace</label>
      <input
        id="namespace"
        type="search"
        list="namespaces"
        value={namespace}
        placeholder={canList ? "all" : "type a name"}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        onChange={take}
        onInput={takeChoice}
      />
      <datalist id="namespaces">
        {namespaces.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </div>
  );
}
