import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ConfigMaps } from "#model/core-kinds.ts";
import { Pods } from "#model/pod.ts";
import { Pools } from "../../../../test/world/bare-kinds.ts";
import { aMap, aPod, everything, openTestStore } from "../../../../test/world/bare-store.ts";

const at = (name: string) => ({ namespace: "default", name });
const label = (color: string) => ({ type: "merge", body: { metadata: { labels: { color } } } }) as const;

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-store-"));
  file = join(folder, "objects.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("a crash", () => {
  test("at any byte of the write-ahead log leaves a state that was once true, never half of a write", async () => {
    using store = openTestStore({ file });
    const states = [await everything(store)];
    const copies: { copy: string; acknowledged: number }[] = [];
    for (let i = 0; i < 40; i++) {
      if (i % 4 === 0) await store.create(Pods, aPod(`p${i}`, { spec: { nodeName: "n" } }));
      else if (i % 4 === 1) await store.patch(Pods, at(`p${i - 1}`), label("red"));
      // Two revisions: the mark and the end.
      else if (i % 4 === 2) await store.delete(Pods, at(`p${i - 2}`), { gracePeriodSeconds: 0 });
      else await store.create(ConfigMaps, aMap(`m${i}`));
      states.push(await everything(store));
      const copy = join(folder, `copy-${i}.db`);
      for (const suffix of ["", "-wal"]) if (existsSync(file + suffix)) copyFileSync(file + suffix, copy + suffix);
      copies.push({ copy, acknowledged: states.length - 1 });
    }
    for (const { copy, acknowledged } of copies) {
      using whole = openTestStore({ file: copy });
      expect(await everything(whole)).toEqual(states[acknowledged]);
    }
    const { copy } = copies.at(-1) ?? { copy: "" };
    for (let cut = 0; cut < 60; cut++) {
      const torn = join(folder, `torn-${cut}.db`);
      for (const suffix of ["", "-wal"]) copyFileSync(file + suffix, torn + suffix);
      truncateSync(`${torn}-wal`, Math.floor((statSync(`${torn}-wal`).size * cut) / 60));
      // Before the first commit there is nothing, and a new store begins.
      using partial = openTestStore({ file: torn });
      const found = await everything(partial);
      const isNew = found.every(({ kind }) => kind === "Namespace");
      expect(isNew || states.some((state) => JSON.stringify(state) === JSON.stringify(found))).toBe(true);
    }
    expect(existsSync(copy)).toBe(true);
  });

  test("by kill -9 loses nothing that was acknowledged", async () => {
    const modules = ["./object-store.ts", "../../../../test/world/bare-kinds.ts"].map((name) =>
      JSON.stringify(new URL(name, import.meta.url).href),
    );
    const code = `
      const { openObjectStore } = await import(${modules[0]});
      const { bareKinds, Pools } = await import(${modules[1]});
      const clock = { now: () => Date.now(), after: () => ({ cancel() {} }) };
      const store = openObjectStore({ file: ${JSON.stringify(file)}, kinds: bareKinds, clock });
      for (let i = 0; ; i++) {
        const { metadata } = await store.create(Pools, { metadata: { namespace: "default", name: "p" + i } });
        process.stdout.write(metadata.name + " " + metadata.resourceVersion + "\\n");
        if (i % 10 === 0) await new Promise(setImmediate);
      }
    `;
    const writer = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
    const acknowledged: string[] = [];
    for await (const line of createInterface({ input: writer.stdout })) {
      acknowledged.push(line);
      if (acknowledged.length === 300) writer.kill("SIGKILL");
    }
    if (writer.exitCode === null && writer.signalCode === null) await once(writer, "exit");
    using store = openTestStore({ file });
    const kept = new Set((await store.list(Pools)).items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`));
    expect(acknowledged.length).toBeGreaterThanOrEqual(300);
    // The last line may be torn: the writer died while it wrote it.
    expect(acknowledged.slice(0, -1).filter((line) => !kept.has(line))).toEqual([]);
  });
});
