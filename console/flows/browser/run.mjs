// SPDX-License-Identifier: Apache-2.0
// node run.mjs SCENARIO JSON - runs a scenario (scenarios.mjs) in a browser.
//
// NODE_MODULES  the folder with playwright-core and axe-core
// CHROMIUM      the browser (/usr/bin/chromium)
import { launch } from "./browser.mjs";
import * as scenarios from "./scenarios.mjs";

const [, , name, given] = process.argv;
const browser = await launch();
try {
  await scenarios[name](browser, JSON.parse(given));
  console.log(`scenario ${name}: done`);
} finally {
  await browser.close();
}
