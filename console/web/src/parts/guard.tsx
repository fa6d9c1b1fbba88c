// SPDX-License-Identifier: Apache-2.0
// A page that fails to render says so, instead of leaving nothing.

import { Component } from "preact";
import type { ComponentChildren } from "preact";
import { Note } from "./note";

export class Guard extends Component<{ children: ComponentChildren }, { error?: string }> {
  override state: { error?: string } = {};

  override componentDidCatch(error: unknown): void {
    console.error(error);
    this.setState({ error: error instanceof Error ? error.message : String(error) });
  }

  override render() {
    if (this.state.error === undefined) return this.props.children;
    return (
      <Note tone="error">
        This page cannot show the answer of the server: {this.state.error}. Reload the page.
      </Note>
    );
  }
}
