import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { CliContext } from "../context.ts";
import { CliError } from "../failure.ts";
import { type Manifest, type ManifestRequest, readManifests } from "./read-manifests.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentbox-manifests-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

/** Reading needs nothing else of what a command has. */
function read(paths: readonly string[], more: Partial<ManifestRequest> = {}, stdin = ""): Promise<readonly (Manifest | CliError)[]> {
  const context = { cwd: folder, readStdin: async () => stdin } as CliContext;
  return readManifests(context, { paths, recursive: false, namespace: undefined, ...more });
}

async function names(...args: Parameters<typeof read>): Promise<string[]> {
  return (await read(...args)).map((entry) =>
    entry instanceof CliError ? entry.message : `${entry.source}: ${entry.type.kind} ${entry.namespace ?? "-"}/${entry.name}`,
  );
}

const map = (name: string): string => `{ apiVersion: v1, kind: ConfigMap, metadata: { name: ${name} } }\n`;

describe("files", () => {
  test("of a folder are read in the order of their names, others than JSON and YAML left out", async () => {
    await write({
      "f/b.yml": map("b"),
      "f/a.yaml": map("a"),
      "f/c.json": '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}',
      "f/d.txt": "d",
      "f/e/e.yaml": map("e"),
    });
    expect(await names(["f"])).toEqual(["f/a.yaml: ConfigMap default/a", "f/b.yml: ConfigMap default/b", "f/c.json: ConfigMap default/c"]);
    expect(await names(["f"], { recursive: true })).toHaveLength(4);
  });

  test("are read whatever their names are when they are named themselves", async () => {
    await write({ "x.conf": map("x") });
    expect(await names(["x.conf"])).toEqual(["x.conf: ConfigMap default/x"]);
  });

  test("come from standard input for -", async () => {
    expect(await names(["-"], {}, map("s"))).toEqual(["STDIN: ConfigMap default/s"]);
  });

  test("that are not there are noticed before any is read", async () => {
    await write({ "a.yaml": map("a") });
    await expect(read(["a.yaml", "b.yaml"])).rejects.toThrow(new CliError('the path "b.yaml" does not exist'));
    await expect(read(["https://example.test/x.yaml"])).rejects.toThrow("only files, folders and - (standard input) are read");
  });

  test("that a folder does not have are asked for by their extensions", async () => {
    await write({ "f/readme.txt": "" });
    await expect(read(["f"])).rejects.toThrow("error reading [f]: recognized file extensions are [.json .yaml .yml]");
  });
});

describe("documents", () => {
  test("of one file are read apart, empty ones left out", async () => {
    await write({ "x.yaml": `# comment\n---\n${map("a")}---\n---\nnull\n---\n${map("b")}...\n` });
    expect(await names(["x.yaml"])).toEqual(["x.yaml: ConfigMap default/a", "x.yaml: ConfigMap default/b"]);
  });

  test("that are lists are read as their items, lists of lists too", async () => {
    const inner = `{ apiVersion: v1, kind: ConfigMapList, items: [ ${map("b")} ] }`;
    await write({ "x.yaml": `{ apiVersion: v1, kind: List, items: [ ${map("a")}, ${inner} ] }` });
    expect(await names(["x.yaml"])).toEqual(["x.yaml: ConfigMap default/a", "x.yaml: ConfigMap default/b"]);
  });

  test("may use anchors, merges and a byte order mark", async () => {
    await write({ "x.yaml": `\uFEFFapiVersion: v1\nkind: ConfigMap\nmetadata: &m { name: x }\ndata: { <<: *m, k: v }\n` });
    const [entry] = await read(["x.yaml"]);
    expect(entry).toMatchObject({ object: { data: { name: "x", k: "v" } } });
  });

  test("have values as Kubernetes reads them", async () => {
    const texts = "{ a: 12:30, b: 2026-01-01, c: ., d: '1', e: 1.2.3, f: =, g: .inf }";
    const values = "{ a: yes, b: 0777, c: 0x1F, d: 1e3, e: ~, f: Off, g: 1_000, h: !!str 5, i: -.5 }";
    await write({ "x.yaml": `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: x }\ntexts: ${texts}\nvalues: ${values}\n` });
    const [entry] = await read(["x.yaml"]);
    expect(entry).toMatchObject({
      object: {
        texts: { a: "12:30", b: "2026-01-01", c: ".", d: "1", e: "1.2.3", f: "=", g: ".inf" },
        values: { a: true, b: 511, c: 31, d: 1000, e: null, f: false, g: 1000, h: "5", i: -0.5 },
      },
    });
  });

  test("that do not parse are told with their line in the file, and those after them are read", async () => {
    await write({ "x.yaml": `${map("a")}---\na: b\n  c: d\n---\n${map("b")}` });
    const [first, broken, last] = await names(["x.yaml"]);
    expect(first).toBe("x.yaml: ConfigMap default/a");
    expect(broken).toMatch(/^error parsing x\.yaml: error converting YAML to JSON: yaml: line 3: /);
    expect(last).toBe("x.yaml: ConfigMap default/b");
  });

  test.each([
    ["a key twice", "a: 1\na: 2\n", "line 2: Map keys must be unique"],
    ["a tab", "a:\n\tb: 1\n", "line 2: Tabs are not allowed as indentation"],
    ["an unknown anchor", "a: *x\n", "Unresolved alias"],
    ["JSON that is cut off", '{"a": [1,\n', "line 2: "],
  ])("with %s are refused", async (_what, text, why) => {
    await write({ "x.yaml": text });
    expect((await names(["x.yaml"]))[0]).toContain(why);
  });

  test("that would grow without end are refused", async () => {
    const bomb = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
    for (let level = 1; level < 9; level++)
      bomb.push(
        `a${level}: &a${level} [${Array(10)
          .fill(`*a${level - 1}`)
          .join(", ")}]`,
      );
    await write({ "x.yaml": bomb.join("\n") });
    expect((await names(["x.yaml"]))[0]).toContain("Excessive alias count");
  });
});

describe("objects", () => {
  test.each([
    ["a list", "- a", "invalid object to validate"],
    ["a word", "word", "invalid object to validate"],
    ["no type", "metadata: {}", "[apiVersion not set, kind not set]"],
    ["no kind", "apiVersion: v1", "kind not set"],
    ["a kind that is no word", "{ apiVersion: v1, kind: 3 }", "kind isn't string type"],
  ])("that are %s are refused", async (_what, text, why) => {
    await write({ "x.yaml": text });
    expect(await names(["x.yaml"])).toEqual([
      `error validating "x.yaml": error validating data: ${why}; if you choose to ignore these errors, turn validation off with --validate=false`,
    ]);
  });

  test("of unknown kinds are refused, in this version or at all", async () => {
    await write({ "x.yaml": "{ apiVersion: v2, kind: ConfigMap, metadata: { name: x, namespace: here } }" });
    expect(await names(["x.yaml"])).toEqual([
      'resource mapping not found for name: "x" namespace: "here" from "x.yaml": no matches for kind "ConfigMap" in version "v2"',
    ]);
  });

  test.each(["no", "1", "{ a: b }"])("whose name is %s must put it in quotes", async (name) => {
    await write({ "x.yaml": `{ apiVersion: v1, kind: ConfigMap, metadata: { name: ${name} } }` });
    expect((await names(["x.yaml"]))[0]).toMatch(
      /^unable to decode "x\.yaml": metadata\.name must be a string, not .*: put it in quotes if it is one$/,
    );
  });

  test("without a namespace go where -n says, cluster-scoped ones nowhere", async () => {
    await write({ "x.yaml": `${map("a")}---\n{ apiVersion: v1, kind: Namespace, metadata: { name: ns } }\n` });
    const [first, second] = await read(["x.yaml"], { namespace: "team" });
    expect(first).toMatchObject({ namespace: "team", object: { metadata: { name: "a", namespace: "team" } } });
    expect(second).toMatchObject({ namespace: undefined, object: { metadata: { name: "ns" } } });
  });

  test("with another namespace than -n says are refused", async () => {
    await write({ "x.yaml": "{ apiVersion: v1, kind: ConfigMap, metadata: { name: x, namespace: here } }" });
    expect(await names(["x.yaml"], { namespace: "here" })).toEqual(["x.yaml: ConfigMap here/x"]);
    expect(await names(["x.yaml"], { namespace: "there" })).toEqual([
      `the namespace from the provided object "here" does not match the namespace "there". You must pass '--namespace=here' to perform this operation.`,
    ]);
  });
});
