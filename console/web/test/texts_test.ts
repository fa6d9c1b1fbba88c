// SPDX-License-Identifier: Apache-2.0
import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { describeAge, describeSeconds } from "../src/pure/age";
import {
  describeCpu,
  describeGib,
  describeNumber,
  describeShare,
  shareOf,
} from "../src/pure/amounts";
import { waitSeconds } from "../src/pure/backoff";
import { csvCell, toCsv } from "../src/pure/csv";

test("ages have the unit that people expect", () => {
  equal(describeSeconds(-3), "0 s");
  equal(describeSeconds(119), "119 s");
  equal(describeSeconds(120), "2 m");
  equal(describeSeconds(2 * 3600), "2 h");
  equal(describeSeconds(5 * 86400 + 1), "5 d");
  equal(describeAge("2026-11-28T12:00:00Z", Date.parse("2026-11-28T12:03:00Z")), "3 m");
  equal(describeAge("yesterday", 0), "not known");
});

test("amounts are rounded, and unknown ones say so", () => {
  equal(describeCpu(0.1), "0.1");
  equal(describeCpu(0.001), "<0.01");
  equal(describeCpu(1088), "1,088");
  equal(describeCpu(undefined), "not known");
  equal(describeGib(1.5 * 1024 ** 3), "1.5");
  equal(describeNumber(1, "pod"), "1 pod");
  equal(describeNumber(1200, "pod"), "1,200 pods");
});

test("a share needs both numbers", () => {
  equal(shareOf(1, 4), 0.25);
  equal(shareOf(5, 4), 1);
  equal(shareOf(1, 0), undefined);
  equal(shareOf(undefined, 4), undefined);
  equal(describeShare(0.744), "74 %");
});

test("failures double the time between requests, up to a minute", () => {
  deepEqual(
    [0, 1, 2, 3, 4, 100].map((failures) => waitSeconds(5, failures)),
    [5, 10, 20, 40, 60, 60],
  );
  equal(waitSeconds(30, 3), 60);
});

test("cells of CSV are no formulas", () => {
  equal(csvCell("=1+1"), "'=1+1");
  equal(csvCell("+1"), "'+1");
  equal(csvCell("-1"), "'-1");
  equal(csvCell("@a"), "'@a");
  equal(csvCell("a=b"), "a=b");
  equal(csvCell('=HYPERLINK("x","y")'), '"\'=HYPERLINK(""x"",""y"")"');
});

test("cells of CSV are quoted if they must be", () => {
  equal(
    toCsv([
      ["a,b", 'say "c"'],
      ["d", "e\nf"],
    ]),
    '"a,b","say ""c"""\r\nd,"e\nf"\r\n',
  );
});
