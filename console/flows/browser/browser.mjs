// SPDX-License-Identifier: Apache-2.0
// A headless Chromium that fails on what users would not see: errors of scripts, violations of the
// Content-Security-Policy, requests of other hosts, violations of accessibility.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(`${process.env.NODE_MODULES}/`);
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 400, height: 800 };

export async function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

// A tab of a browser of its own, and what went wrong in it. `token` "": nobody is logged in.
export class Tab {
  static async open(browser, { address, token = "", colors = "light", isPhone = false }) {
    const context = await browser.newContext({
      viewport: isPhone ? PHONE : DESKTOP,
      colorScheme: colors,
      reducedMotion: "reduce",
      ignoreHTTPSErrors: true,
      // axe is injected: the page's own policy stays in force for the page.
      bypassCSP: false,
    });
    const tab = new Tab(await context.newPage(), address);
    await tab.page.goto(token === "" ? address : `${address}#token=${token}`);
    return tab;
  }

  constructor(page, address) {
    this.page = page;
    this.address = address;
    this.problems = [];
    // Refusals of the server, which tests expect.
    const isRefusal = (text) => /status of (401|403|404|400|429|503)/.test(text);
    page.on("console", (message) => {
      if (message.type() === "error" && !isRefusal(message.text()))
        this.problems.push(message.text());
    });
    page.on("pageerror", (error) => this.problems.push(String(error)));
    page.on("request", (request) => {
      if (!request.url().startsWith(address)) this.problems.push(`asks ${request.url()}`);
    });
  }

  async go(page, query = {}) {
    const text = new URLSearchParams(query).toString();
    await this.page.goto(`${this.address}#/${page}${text === "" ? "" : `?${text}`}`);
  }

  // Waits for the heading of the page, and for its first answer.
  async shows(title) {
    await this.page.getByRole("heading", { level: 1, name: title }).waitFor();
    await this.page.waitForFunction(() => document.querySelector(".loading") === null);
  }

  async says(text) {
    await this.page.getByText(text).first().waitFor();
  }

  async isAccessible(what) {
    await this.page.evaluate(axe);
    const { violations } = await this.page.evaluate(() => globalThis.axe.run());
    assert.deepEqual(
      violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" | ")}`),
      [],
      `axe finds something in ${what}`,
    );
  }

  async screenshot(folder, name) {
    if (folder) await this.page.screenshot({ path: join(folder, `${name}.png`) });
  }

  async close() {
    assert.deepEqual(this.problems, []);
    await this.page.context().close();
  }
}
