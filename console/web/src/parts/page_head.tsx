// SPDX-License-Identifier: Apache-2.0
// The head of a page: its title, which gets the focus when the page is opened, and its actions.

import type { ComponentChildren } from "preact";

export const PAGE_TITLE_ID = "page-title";

interface PageHeadProps {
  title: string;
  about: string;
  children?: ComponentChildren;
}

export function PageHead({ title, about, children }: PageHeadProps) {
  return (
    <div class="page-head">
      <div>
        <h1 id={PAGE_TITLE_ID} tabIndex={-1}>
          {title}
        </h1>
        <p class="muted">{about}</p>
      </div>
      <div class="page-actions">{children}</div>
    </div>
  );
}

// Instead of a page that needs a namespace.
export function AskNamespace() {
  return (
    <div class="empty">
      <p>
        <strong>Type a namespace at the top of the page.</strong>
      </p>
      <p class="muted">You may not list namespaces, so the console needs the name of one.</p>
    </div>
  );
}
