import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { SteppedClock } from "../../test/world/stepped-clock.ts";
import { loadPlugins } from "./load-plugins.ts";

let folder = "";
const clock = new SteppedClock();
const pool: SandboxPool = { metadata: { name: "py" }, spec: { replicas: 1 } };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentbox-plugins-"));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

let files = 0;

async function written(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, text);
  return path;
}

/** Loads a file with one module of this text. */
async function loading(code: string, args: unknown = null) {
  const module = await written(`module-${++files}.mjs`, code);
  const path = await written(`plugins-${files}.json`, JSON.stringify({ plugins: [{ name: "mine", module, args }] }));
  return loadPlugins({ path, isNamed: true }, clock);
}

test("a module exports a plugin or a function that makes one of its args, by default or as `plugin`", async () => {
  const hook = `async preCreatePool(pool) { return { refusal: { kind: "InvalidSpec", message: this.word } } }`;
  const ways = [
    `export default { name: "x", word: "hello", ${hook} }`,
    `export const plugin = { word: "hello", ${hook} }`,
    `export default async (args) => ({ word: args.word, ${hook} })`,
  ];
  for (const way of ways) {
    const { plugins } = await loading(way, { word: "hello" });
    expect(plugins.map(({ name }) => name)).toEqual(["mine"]);
    expect(await plugins[0]?.preCreatePool?.(pool, new AbortController().signal)).toMatchObject({ refusal: { message: "hello" } });
  }
});

test("a package is found from the folder of the file, and a path may start there", async () => {
  await written("node_modules/a-plugin/package.json", '{"name":"a-plugin","type":"module","exports":"./index.js"}');
  await written("node_modules/a-plugin/index.js", `export default { async preDeletePool(pool) { return { object: pool } } }`);
  await written("beside.mjs", `export default { async preDeletePool(pool) { return { object: pool } } }`);
  const path = await written("both.yaml", "plugins: [{ name: a, module: a-plugin }, { name: b, module: ./beside.mjs }]");
  expect((await loadPlugins({ path, isNamed: true }, clock)).plugins.map(({ name }) => name)).toEqual(["a", "b"]);
});

test.each([
  ["export const other = 1", "exports neither default nor plugin"],
  ["export default 7", "exports no plugin and no function that returns one"],
  ["export default () => undefined", "exports no plugin and no function"],
  ["export default {}", "has none of the hooks preCreatePool"],
  ["export default { preCreatePool: 7 }", "preCreatePool of "],
  ["export default () => { throw new Error('no license') }", "no license"],
  ["this is no code", "plugin mine: "],
])("a module with %j keeps the server from starting, and the error names the entry and the file", async (code, message) => {
  const error: Error = await loading(code).then(
    () => new Error("loaded"),
    (failure: Error) => failure,
  );
  expect(error.message).toContain(message);
  expect(error.message).toContain("plugin mine: ");
  expect(error.message).toContain(`plugins-${files}.json: `);
});

test("a file that is not there matters only when a user named it", async () => {
  const path = join(folder, "nowhere.json");
  expect((await loadPlugins({ path, isNamed: false }, clock)).plugins).toEqual([]);
  await expect(loadPlugins({ path, isNamed: true }, clock)).rejects.toThrow(`${path}: there is no such file`);
});

test("a module that is not there, and a secret that is not there or too short, are told with their place", async () => {
  const load = async (entry: object) => {
    const path = await written(`bad-${++files}.json`, JSON.stringify({ plugins: [{ name: "mine", ...entry }] }));
    return loadPlugins({ path, isNamed: true }, clock);
  };
  await expect(load({ module: "./nowhere.mjs" })).rejects.toThrow(/plugin mine: Cannot find module|plugin mine: .*nowhere/);
  await expect(load({ url: "http://127.0.0.1:1/", secretFile: "nowhere" })).rejects.toThrow(
    /plugin mine: secretFile .*nowhere cannot be read/,
  );
  await written("short", "abc");
  await expect(load({ url: "http://127.0.0.1:1/", secretFile: "short" })).rejects.toThrow(/fewer than 16 characters/);
});
