// SPDX-License-Identifier: Apache-2.0
// What users do with the console. `given` is what the flow has prepared (../console.cc).
import assert from "node:assert/strict";
import { Tab } from "./browser.mjs";

// Each page as an administrator, in light and dark and on a phone.
export async function eachPage(browser, given) {
  const { address, token, namespace, screens } = given;
  for (const look of [
    { colors: "light" },
    { colors: "dark" },
    { colors: "light", isPhone: true },
  ]) {
    const tab = await Tab.open(browser, { address, token, ...look });
    const name = (page) => `${page}${look.isPhone ? "-phone" : look.colors === "dark" ? "-dark" : ""}`;
    const done = async (page) => {
      await tab.isAccessible(name(page));
      await tab.screenshot(screens, name(page));
    };
    await tab.shows("Overview");
    await tab.says("What could run on arm64");
    await done("overview");
    assert.ok(!tab.page.url().includes(token), "the token stays in the address");

    await tab.go("waiting", { namespace });
    await tab.shows("Waiting");
    await tab.page.getByRole("row", { name: /waits/ }).click();
    await tab.page.getByRole("dialog", { name: "waits" }).waitFor();
    await tab.says("another controller");
    await done("waiting");
    await tab.page.keyboard.press("Escape");
    await tab.page.getByRole("dialog").waitFor({ state: "detached" });

    await tab.go("workloads", { namespace });
    await tab.shows("Workloads");
    await tab.page.getByRole("row", { name: /web/ }).first().waitFor();
    await done("workloads");

    await tab.go("configs", { namespace });
    await tab.shows("Configs");
    await tab.says("arm64 77");
    await tab.page.getByText(`${namespace}/only`).click();
    await tab.page.getByRole("dialog").waitFor();
    await tab.says("prefer arm64 77");
    await done("configs");

    await tab.go("images", { search: "demo/arm64-amd64" });
    await tab.shows("Images");
    await tab.says("linux/arm64");
    await done("images");

    await tab.go("fleet");
    await tab.shows("Fleet");
    await tab.page.getByText("fleet-demo/web").first().click();
    await tab.says("rejected by TaintToleration");
    await done("fleet");
    await tab.close();
  }
}

// Without a token, and with a wrong one.
export async function wrongToken(browser, { address, token, screens }) {
  const tab = await Tab.open(browser, { address });
  const field = tab.page.getByLabel("Token");
  await field.waitFor();
  await tab.isAccessible("login");
  await tab.screenshot(screens, "login");
  await field.fill("wrong");
  await tab.page.getByRole("button", { name: "Sign in" }).click();
  await tab.says("the API server does not accept the token");
  await field.fill(token);
  await tab.page.getByRole("button", { name: "Sign in" }).click();
  await tab.shows("Overview");
  // Another tab knows nothing of it.
  const other = await tab.page.context().newPage();
  await other.goto(address);
  await other.getByLabel("Token").waitFor();
  await tab.page.reload();
  await tab.shows("Overview");
  await tab.page.getByRole("button", { name: "Sign out" }).click();
  await field.waitFor();
  await tab.page.reload();
  await field.waitFor();
  await tab.close();
}

// Below a path of another server, which has an Authorization of its own.
export async function behindProxy(browser, { address, token, namespace }) {
  const tab = await Tab.open(browser, { address, token });
  await tab.says("The namespaces are not listed");
  await tab.go("waiting", { namespace });
  await tab.says("No pod waits.");
  await tab.go("configs", { namespace });
  await tab.says("There is no PodPlacementConfig.");
  await tab.close();
}

// A user who may view one namespace.
export async function tenant(browser, { address, token, namespace, other }) {
  const tab = await Tab.open(browser, { address, token });
  await tab.says("The namespaces are not listed");
  await tab.page.getByLabel("Namespace").fill(namespace);
  await tab.page.keyboard.press("Enter");
  await tab.says("You may not read everything");
  await tab.isAccessible("overview of a tenant");
  await tab.go("workloads", { namespace });
  await tab.page.getByRole("row", { name: /web/ }).first().waitFor();
  await tab.go("waiting", { namespace });
  await tab.page.getByRole("row", { name: /waits/ }).waitFor();
  for (const page of ["waiting", "workloads"]) {
    await tab.go(page, { namespace: other });
    await tab.says("forbidden");
    assert.equal(await tab.page.getByRole("row", { name: /secret/ }).count(), 0);
  }
  await tab.go("waiting", { namespace: other, pod: `${other}/secret` });
  await tab.page.getByRole("dialog").getByText("forbidden").waitFor();
  await tab.close();
}

// A config while it is typed.
export async function newConfig(browser, { address, token, namespace, screens }) {
  const tab = await Tab.open(browser, { address, token });
  await tab.shows("Overview");
  await tab.go("configs", { namespace });
  await tab.page.getByRole("button", { name: "New config" }).click();
  await tab.page.getByLabel("Name", { exact: true }).fill("another");
  await tab.page.getByLabel("Selector").fill("app in (web");
  await tab.says("The YAML appears when every field is right.");
  await tab.page.getByLabel("Selector").fill("app=web");
  await tab.page.getByLabel("Priority").fill("9");
  await tab.page.getByRole("button", { name: "Add an architecture" }).first().click();
  await tab.says(`Pod ${namespace}/web`);
  await tab.says("kind: PodPlacementConfig");
  await tab.page.getByLabel("Selector").fill("app=nobody");
  await tab.page.getByText(`Pod ${namespace}/web`, { exact: true }).waitFor({ state: "detached" });
  await tab.page.getByLabel("Selector").fill("app=web");
  await tab.says(`Pod ${namespace}/web`);
  await tab.isAccessible("new config");
  await tab.screenshot(screens, "new-config");
  await tab.close();
}

// Thousands of waiting pods: few rows are in the document, and the page answers while it scrolls.
export async function manyPods(browser, { address, token, namespace, pods, screens }) {
  const tab = await Tab.open(browser, { address, token });
  await tab.shows("Overview");
  await tab.go("waiting", { namespace });
  const grid = tab.page.getByRole("grid", { name: "Waiting pods" });
  await grid.waitFor();
  assert.equal(await grid.getAttribute("aria-rowcount"), String(pods + 1));
  await tab.page.evaluate(() => {
    globalThis.longest = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries())
        globalThis.longest = Math.max(globalThis.longest, entry.duration);
    }).observe({ type: "longtask" });
  });
  for (let step = 1; step <= 40; ++step) {
    await grid.evaluate((element, share) => {
      element.scrollTop = share * element.scrollHeight;
    }, step / 40);
    assert.ok((await grid.getByRole("row").count()) < 80, "rows outside of the view are rendered");
  }
  await grid.getByRole("row").last().click();
  await tab.page.getByRole("dialog").waitFor();
  await tab.page.keyboard.press("Escape");
  const search = tab.page.getByLabel("Find");
  await search.fill("pod-4999");
  await grid.getByRole("row", { name: /pod-4999/ }).waitFor();
  assert.equal(await grid.getAttribute("aria-rowcount"), "2");
  await search.fill("");
  await tab.screenshot(screens, "many-pods");
  const longest = await tab.page.evaluate(() => globalThis.longest);
  console.log(`the longest task of the page: ${Math.round(longest)} ms`);
  assert.ok(longest < 1000, `the page was frozen for ${longest} ms`);
  await tab.close();
}
