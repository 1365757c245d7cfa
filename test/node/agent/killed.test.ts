import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eraseEmbeddedNode } from "../../../src/cmd/machine/embedded-node.ts";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { type ObjectStore, openObjectStore } from "#engines/embedded/store/object-store.ts";
import { systemClock } from "#lib/clock.ts";
import { Pods, type PodStatus } from "#model/pod.ts";
import { recordedLog } from "../../world/recorded-log.ts";
import { key, namespace, script } from "./pods-for-real.ts";

interface Seen {
  readonly type: string;
  readonly name: string;
  readonly status: PodStatus;
}

let home: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "agentbox-node-"));
});

afterAll(async () => {
  await eraseEmbeddedNode({ home, clock: systemClock, log: recordedLog().log });
  await rm(home, { recursive: true, force: true });
});

/** The store while no agent has it. */
async function inStore<T>(work: (store: ObjectStore) => Promise<T>): Promise<T> {
  using store = openObjectStore({ file: join(home, "objects.db"), kinds: embeddedKindRules(), clock: systemClock });
  return await work(store);
}

class AgentProcess {
  readonly #child: ChildProcess;
  readonly #last = new Map<string, Seen>();
  #onSeen: () => void = () => {};

  constructor() {
    this.#child = spawn(process.execPath, [join(import.meta.dirname, "run.ts"), home], { stdio: ["ignore", "pipe", "inherit"] });
    if (this.#child.stdout !== null) {
      createInterface({ input: this.#child.stdout }).on("line", (line) => {
        const seen = JSON.parse(line) as Seen;
        this.#last.set(seen.name, seen);
        this.#onSeen();
      });
    }
  }

  /** Resolves when what was last seen of all these pods is so. */
  async until(names: readonly string[], isSo: (seen: Seen) => boolean): Promise<readonly Seen[]> {
    for (;;) {
      const seen = names.flatMap((name) => this.#last.get(name) ?? []);
      if (seen.length === names.length && seen.every(isSo)) return seen;
      await new Promise<void>((resolve) => (this.#onSeen = resolve));
    }
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
  }
}

const names = ["one", "two", "three"];
const isUp = ({ status }: Seen): boolean => status.containerStatuses?.every(({ ready }) => ready) === true;
const ids = (seen: readonly Seen[]): readonly (string | undefined)[] =>
  seen.flatMap(({ status }) => status.containerStatuses?.map(({ containerID }) => containerID));

test("containers outlive a killed agent, the next one takes them over as they are, and finishes what was asked meanwhile", async () => {
  await inStore(async (store) => {
    for (const name of names) {
      const containers = [script("n=0; while :; do n=$((n+1)); echo $n; sleep 0.05; done")];
      await store.create(Pods, { metadata: key(name), spec: { terminationGracePeriodSeconds: 1, containers } });
    }
  });
  const first = new AgentProcess();
  const before = await first.until(names, isUp);
  await first.kill();

  const pods = await inStore(async (store) => (await store.list(Pods, { namespace })).items);
  const logFile = join(
    home,
    "logs",
    "pods",
    `default_one_${pods.find(({ metadata }) => metadata.name === "one")?.metadata.uid}`,
    "main",
    "0.log",
  );
  const lines = async (): Promise<number> => (await readFile(logFile, "utf8")).split("\n").length;
  const written = await lines();
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(await lines()).toBeGreaterThan(written + 3);

  const second = new AgentProcess();
  const after = await second.until(names, isUp);
  expect(ids(after)).toEqual(ids(before));
  expect(after.map(({ status }) => status.containerStatuses?.[0]?.restartCount)).toEqual([0, 0, 0]);
  expect(after.map(({ status }) => status.podIP)).toEqual(before.map(({ status }) => status.podIP));
  await second.kill();

  await inStore(async (store) => {
    await store.delete(Pods, key("one"));
    await store.delete(Pods, key("two"), { gracePeriodSeconds: 0 });
    const operations = [{ op: "replace", path: "/spec/containers/0/image", value: "host:1-u1" }] as const;
    await store.patch(Pods, key("three"), { type: "json", operations });
  });
  const third = new AgentProcess();
  const [three] = await third.until(["three"], (seen) => isUp(seen) && seen.status.containerStatuses?.[0]?.restartCount === 1);
  expect(three?.status.containerStatuses?.[0]).toMatchObject({ image: "host:1-u1" });
  await third.until(["one"], ({ type }) => type === "DELETED");
  await third.kill();
  expect(await inStore(async (store) => (await store.list(Pods, { namespace })).items.map(({ metadata }) => metadata.name))).toEqual([
    "three",
  ]);
});

test("killed again and again while pods come, change and go, it ends clean", async () => {
  const rounds = Number(process.env["AGENTBOX_NODE_KILLS"] ?? 6);
  for (let round = 0; round < rounds; round++) {
    await inStore(async (store) => {
      const { items } = await store.list(Pods, { namespace });
      for (const { metadata } of items)
        if (Math.random() < 0.4) await store.delete(Pods, key(metadata.name ?? ""), { gracePeriodSeconds: 1 }).catch(() => {});
      const containers = [script("exec sleep 1000", { image: `host:1-u${round}` })];
      for (const suffix of ["a", "b"])
        await store.create(Pods, { metadata: key(`round-${round}-${suffix}`), spec: { terminationGracePeriodSeconds: 1, containers } });
      for (const { metadata, status } of items) {
        if (metadata.deletionTimestamp !== undefined || status?.phase !== "Running" || Math.random() < 0.5) continue;
        const operations = [{ op: "replace", path: "/spec/containers/0/image", value: `host:1-u${round}` }] as const;
        await store.patch(Pods, key(metadata.name ?? ""), { type: "json", operations }).catch(() => {});
      }
    });
    const agent = new AgentProcess();
    await new Promise((resolve) => setTimeout(resolve, 300 + Math.random() * 1_200));
    await agent.kill();
  }
  const living = await inStore(async (store) =>
    (await store.list(Pods, { namespace })).items.filter(({ metadata }) => metadata.deletionTimestamp === undefined),
  );
  const settling = new AgentProcess();
  await settling.until(
    living.map(({ metadata }) => metadata.name ?? ""),
    isUp,
  );
  await settling.kill();

  const all = await inStore(async (store) => {
    const { items } = await store.list(Pods, { namespace });
    for (const { metadata } of items) await store.delete(Pods, key(metadata.name ?? ""), { gracePeriodSeconds: 1 }).catch(() => {});
    return items.map(({ metadata }) => metadata.name ?? "");
  });
  const last = new AgentProcess();
  await last.until(all, ({ type }) => type === "DELETED").catch(() => {});
  await last.kill();
  expect(await inStore(async (store) => (await store.list(Pods, { namespace })).items)).toEqual([]);
});
