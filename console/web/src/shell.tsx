// SPDX-License-Identifier: Apache-2.0
// What is around every page: the header with the namespace, the navigation, and the user.

import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useSession } from "./hooks/session";
import { changeQuery, useRoute } from "./hooks/use_route";
import { ConfigsPage } from "./pages/configs";
import { FleetPage } from "./pages/fleet";
import { ImagesPage } from "./pages/images";
import { OverviewPage } from "./pages/overview";
import { WaitingPage } from "./pages/waiting";
import { WorkloadsPage } from "./pages/workloads";
import { Announcer } from "./parts/announcer";
import { Guard } from "./parts/guard";
import { Logo } from "./parts/logo";
import { NamespacePicker } from "./parts/namespace_picker";
import { Note } from "./parts/note";
import { PAGE_TITLE_ID } from "./parts/page_head";
import { linkTo } from "./pure/route";
import type { Page } from "./pure/route";

const TITLES: Record<Page, string> = {
  overview: "Overview",
  waiting: "Waiting",
  workloads: "Workloads",
  configs: "Configs",
  images: "Images",
  fleet: "Fleet",
};

const COMPONENTS: Record<Page, ComponentType> = {
  overview: OverviewPage,
  waiting: WaitingPage,
  workloads: WorkloadsPage,
  configs: ConfigsPage,
  images: ImagesPage,
  fleet: FleetPage,
};

function Navigation({ page, pages }: { page: Page; pages: Page[] }) {
  const route = useRoute();
  const list = useRef<HTMLUListElement>(null);
  // On narrow screens, the list scrolls sideways.
  useEffect(() => {
    const current = list.current?.querySelector('[aria-current="page"]');
    current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [page]);
  return (
    <nav class="nav" aria-label="Pages">
      <ul ref={list}>
        {pages.map((one) => (
          <li key={one}>
            <a href={linkTo(one, route)} aria-current={one === page ? "page" : undefined}>
              {TITLES[one]}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function User() {
  const { session, signOut } = useSession();
  return (
    <div class="user">
      <span class="user-name" title={session.user}>
        {session.user === "" ? "not known" : session.user}
      </span>
      <button type="button" class="button" onClick={signOut}>
        Sign out
      </button>
    </div>
  );
}

function skipToMain(event: Event): void {
  // The hash is the route, so the link must not change it.
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Main({ page, children }: { page: Page; children: ComponentChildren }) {
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${TITLES[page]} – Pod placement`;
    // As after loading a page: reading begins at the title.
    if (!isFirst.current) document.getElementById(PAGE_TITLE_ID)?.focus({ preventScroll: true });
    isFirst.current = false;
    scrollTo(0, 0);
  }, [page]);
  return (
    <main id="main" tabIndex={-1}>
      {children}
    </main>
  );
}

export function Shell() {
  const { session } = useSession();
  const route = useRoute();
  const pages = (Object.keys(TITLES) as Page[]).filter((page) => page !== "fleet" || session.fleet);
  const page = pages.includes(route.page) ? route.page : "overview";
  const PageComponent = COMPONENTS[page];
  return (
    <>
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to the content
      </a>
      <header class="header">
        <div class="header-row">
          <div class="brand">
            <Logo />
            <span class="brand-name">Pod placement</span>
            {session.version !== "" && <span class="muted version">{session.version}</span>}
          </div>
          <NamespacePicker
            namespace={route.query["namespace"] ?? ""}
            namespaces={session.namespaces}
            canList={session.namespacesUnread === ""}
            // What is open may be of another namespace.
            onNamespace={(namespace) =>
              changeQuery({ namespace, pod: "", workload: "", config: "" })
            }
          />
          <User />
        </div>
        <Navigation page={page} pages={pages} />
      </header>
      <Main page={page}>
        {session.namespacesUnread !== "" && (
          <Note tone="warning">The namespaces are not listed: {session.namespacesUnread}</Note>
        )}
        <Guard key={page}>
          <PageComponent />
        </Guard>
      </Main>
      <Announcer />
    </>
  );
}
