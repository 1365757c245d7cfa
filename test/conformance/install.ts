/**
 * Puts the published SDKs into a folder of their own, once: they are what is held against this server, and no part of it.
 * `node test/conformance/install.ts` before going offline.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export const jsVersions = ["2.51.0", "2.45.0", "2.25.0", "2.14.1"] as const;
/** The newest, and the one of a year before it. */
export const pythonVersions = ["2.63.0", "2.7.0"] as const;

/** Each with the newest SDK under it. */
export const interpreterVersions = { js: "2.8.0", python: "2.11.5" } as const;

const desktopVersion = "2.7.2";
const desktopFolder = `e2b-desktop-python-${desktopVersion}`;
const conformanceVersion = "0.2.0-alpha.12";
const conformanceFolder = `mcp-conformance-${conformanceVersion}`;
const cliVersion = "2.19.0";
/** With what its client needs and does not ask for. */
const swerexPackages = ["swe-rex==1.4.0", "aiohttp"];
/** What the code that is run in sandboxes draws and computes with. */
const science = ["matplotlib", "pandas"];

export type JsVersion = (typeof jsVersions)[number];
export type PythonVersion = (typeof pythonVersions)[number];

const run = promisify(execFile);
const folder = join(homedir(), ".cache", "agentbox", "sdks");
const patienceMs = 300_000;

export function jsModule(version: JsVersion): string {
  return join(folder, `e2b-js-${version}`, "node_modules", "e2b", "dist", "index.mjs");
}

/** It stands on the newest SDK, with all that this one exports. */
export function interpreterModule(): string {
  return join(folder, `e2b-interpreter-js-${interpreterVersions.js}`, "node_modules", "@e2b", "code-interpreter", "dist", "index.mjs");
}

export function interpreterPythonProgram(): string {
  return join(folder, `e2b-interpreter-python-${interpreterVersions.python}`, "bin", "python");
}

/** Packed packages for the Python of a sandbox (`3.11`), where this machine's own Python is of that version; undefined elsewhere. */
export function scienceArchive(pythonVersion: string): string | undefined {
  return archiveOf("science", pythonVersion);
}

/** SWE-ReX's own server in the same form, for this machine's Python; undefined on a machine without one. */
export async function swerexArchive(): Promise<string | undefined> {
  const version = await ownPython();
  return version === undefined ? undefined : archiveOf("swe-rex-1.4.0-server", version);
}

function archiveOf(name: string, pythonVersion: string): string | undefined {
  const path = join(folder, `${name}-${pythonVersion}`, "packages.tgz");
  return existsSync(path) ? path : undefined;
}

/** E2B's own command line. */
export function cliProgram(): string {
  return join(folder, `e2b-cli-${cliVersion}`, "node_modules", "@e2b", "cli", "dist", "index.js");
}

export function pythonProgram(version: PythonVersion): string {
  return join(folder, `e2b-python-${version}`, "bin", "python");
}

/** Python with SWE-ReX's client. */
export function swerexProgram(): string {
  return join(folder, "swe-rex-1.4.0", "bin", "python");
}

/** Python with the SDKs for code and for desktops. */
export function desktopProgram(): string {
  return join(folder, desktopFolder, "bin", "python");
}

export async function installDesktop(): Promise<void> {
  await mkdir(folder, { recursive: true });
  const { python } = interpreterVersions;
  const packages = [`e2b-desktop==${desktopVersion}`, `e2b-code-interpreter==${python}`, `e2b==${pythonVersions[0]}`];
  await once(desktopFolder, (into) => installPython(into, ...packages));
}

/** The Model Context Protocol's conformance suite. */
export function conformanceProgram(): string {
  return join(folder, conformanceFolder, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js");
}

export async function installConformance(): Promise<void> {
  await mkdir(folder, { recursive: true });
  await once(conformanceFolder, (into) => installJs(into, `@modelcontextprotocol/conformance@${conformanceVersion}`));
}

export async function installSdks(): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const version of jsVersions) await once(`e2b-js-${version}`, (into) => installJs(into, `e2b@${version}`));
  await once(`e2b-cli-${cliVersion}`, (into) => installJs(into, `@e2b/cli@${cliVersion}`));
  for (const version of pythonVersions) await installPythonSdk(version);
  const { js, python } = interpreterVersions;
  await once(`e2b-interpreter-js-${js}`, (into) => installJs(into, `@e2b/code-interpreter@${js}`, `e2b@${jsVersions[0]}`));
  const packages = [`e2b-code-interpreter==${python}`, `e2b==${pythonVersions[0]}`];
  await once(`e2b-interpreter-python-${python}`, (into) => installPython(into, ...packages));
  await once("swe-rex-1.4.0", (into) => installPython(into, ...swerexPackages));
  await installArchive("science", science, ["tests", "*.dist-info"]);
  await installArchive("swe-rex-1.4.0-server", swerexPackages, []);
}

export async function installPythonSdk(version: PythonVersion): Promise<void> {
  await mkdir(folder, { recursive: true });
  await once(`e2b-python-${version}`, (into) => installPython(into, `e2b==${version}`));
}

/** What was cut short is done again: only a complete one is noted as done. */
async function once(name: string, install: (into: string) => Promise<void>): Promise<void> {
  const into = join(folder, name);
  const note = join(folder, `${name}.installed`);
  if (existsSync(note)) return;
  await rm(into, { recursive: true, force: true });
  await mkdir(into);
  await install(into);
  await writeFile(`${note}.new`, "");
  await rename(`${note}.new`, note);
}

async function installJs(into: string, ...wanted: readonly string[]): Promise<void> {
  await writeFile(join(into, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const flags = ["--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"];
  await run("npm", ["install", ...flags, ...wanted], { cwd: into, timeout: patienceMs });
}

async function installPython(into: string, ...wanted: readonly string[]): Promise<void> {
  await run("python3", ["-m", "venv", into], { timeout: patienceMs });
  await run(join(into, "bin", "pip"), ["install", "--quiet", ...wanted], { timeout: patienceMs });
}

/** For the machine's own Python, which is the one that sandboxes of the image `host` have. */
async function installArchive(name: string, wanted: readonly string[], leftOut: readonly string[]): Promise<void> {
  const version = await ownPython();
  if (version === undefined) return;
  await once(`${name}-${version}`, async (into) => {
    const packages = join(into, "packages");
    const flags = ["--python-version", version, "--only-binary=:all:", "--no-compile"];
    await run("python3", ["-m", "pip", "install", "--quiet", "--target", packages, ...flags, ...wanted], { timeout: patienceMs });
    const unneeded = leftOut.map((pattern) => `--exclude=${pattern}`);
    await run("tar", [...unneeded, "-C", packages, "-czf", join(into, "packages.tgz"), "."], { timeout: patienceMs });
    await rm(packages, { recursive: true });
  });
}

async function ownPython(): Promise<string | undefined> {
  const own = await run("/usr/bin/python3", ["-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).catch(() => undefined);
  return own?.stdout.trim();
}

if (import.meta.main) await installSdks();
