// SPDX-License-Identifier: Apache-2.0
//
// node build.mjs NODE_MODULES OUT [--tests] - checks the types, and makes the files of the page in
// the folder OUT; with --tests, makes and runs the tests instead. Reads the sources beside this
// file.
//
// Everything happens in a temporary folder with copies: Bazel's sources and packages are symbolic
// links to elsewhere, and what is made must not know where the sources are.

import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

const source = dirname(resolve(process.argv[1]));
const packages = realpathSync(process.argv[2]);
const out = resolve(process.argv[3]);
const isTest = process.argv.includes("--tests");

const work = mkdtempSync(join(tmpdir(), "console-web-"));

function run(program, ...values) {
  const done = spawnSync(process.execPath, [program, ...values], { cwd: work, stdio: "inherit" });
  if (done.status !== 0) throw new Error(`${program} failed`);
}

function copySources() {
  for (const name of ["src", "test", "tsconfig.json"])
    cpSync(join(source, name), join(work, name), { recursive: true, dereference: true });
  symlinkSync(packages, join(work, "node_modules"));
}

// The packages whose code is in app.js and app.css.
function bundled() {
  return ["preact", "uplot"].map((name) => {
    const folder = join(packages, name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return { name, version, license, text: readFileSync(join(folder, "LICENSE"), "utf8").trim() };
  });
}

function licenses() {
  const parts = bundled().map(
    ({ name, version, license, text }) => `${name} ${version} (${license})\n\n${text}\n`,
  );
  return `app.js and app.css contain parts of:\n\n${parts.join(`\n${"-".repeat(72)}\n\n`)}`;
}

// For the SBOM of the image, as bazel/images/go_modules.py writes those of Go programs.
function modules() {
  const found = bundled().map(({ name, version, license }) => ({
    license,
    name,
    purl: `pkg:npm/${encodeURIComponent(name)}@${version}`,
    version,
  }));
  return `${JSON.stringify(found, null, 1)}\n`;
}

function bundle(options) {
  const esbuild = createRequire(join(packages, "package.json"))("esbuild");
  esbuild.buildSync({
    absWorkingDir: work,
    bundle: true,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    logLevel: "warning",
    ...options,
  });
}

function makePage() {
  mkdirSync(out, { recursive: true });
  bundle({
    entryPoints: ["src/main.tsx"],
    outfile: join(out, "app.js"),
    minify: true,
    legalComments: "none", // licenses.txt has them
    banner: { js: "// SPDX-License-Identifier: Apache-2.0 AND MIT; see licenses.txt" },
  });
  bundle({
    stdin: {
      contents: '@import "uplot/dist/uPlot.min.css"; @import "./src/app.css";',
      loader: "css",
      resolveDir: work,
    },
    outfile: join(out, "app.css"),
    minify: true,
    legalComments: "none",
    banner: { css: "/* SPDX-License-Identifier: Apache-2.0 AND MIT; see licenses.txt */" },
  });
  for (const name of ["index.html", "favicon.svg"])
    writeFileSync(join(out, name), readFileSync(join(source, "src", name)));
  writeFileSync(join(out, "licenses.txt"), licenses());
  writeFileSync(join(out, "modules.json"), modules());
}

function test() {
  const names = readdirSync(join(work, "test")).filter((name) => name.endsWith("_test.ts"));
  if (names.length === 0) throw new Error("there are no tests");
  bundle({
    entryPoints: names.map((name) => join("test", name)),
    outdir: "tests",
    outExtension: { ".js": ".mjs" },
    platform: "node",
    sourcemap: "inline",
  });
  run("--test", ...names.map((name) => join("tests", name.replace(/\.ts$/, ".mjs"))));
}

try {
  copySources();
  run("node_modules/typescript/bin/tsc", "--noEmit");
  if (isTest) test();
  else makePage();
} finally {
  rmSync(work, { recursive: true, force: true });
}
