/** What an informer does on any API server. */
import { expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import type { Index } from "#kube/informer/indexed-store.ts";
import { Informer, type InformerOptions } from "#kube/informer/informer.ts";
import { compareVersions } from "#kube/informer/versions.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { systemClock } from "#lib/clock.ts";
import { type Secret, Secrets } from "#model/core-kinds.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { eventually } from "../world/eventually.ts";
import { recordedLog } from "../world/recorded-log.ts";
import { TamperedClient, type Tampering } from "../world/tampered-client.ts";
import { gone } from "./helpers.ts";
import { aPool } from "./own-kinds.ts";
import type { ContractServer } from "./servers.ts";

const byColor: Index<Secret> = { name: "color", type: Secrets, extract: ({ metadata }) => [metadata.labels?.["color"] ?? "none"] };
const colors = ["red", "blue", "none"];

function aSecret(namespace: string, name: string, labels: Record<string, string> = {}): Secret {
  return { metadata: { namespace, name, labels } };
}

function paint(color: string) {
  return { type: "merge", body: { metadata: { labels: { color } } } } as const;
}

/** An informer of the secrets of a new namespace, with what a handler was told. */
class Following implements AsyncDisposable {
  readonly client: ObjectClient;
  readonly namespace: string;
  readonly tampered: TamperedClient;
  readonly informer: Informer<Secret>;
  readonly story: string[] = [];
  /** Versions per name, in the order told. */
  readonly versions = new Map<string, string[]>();

  private constructor(client: ObjectClient, namespace: string, options: Partial<InformerOptions<Secret>> & Tampering) {
    this.client = client;
    this.namespace = namespace;
    this.tampered = new TamperedClient(client, options);
    const deps = { client: this.tampered.client, clock: systemClock, log: recordedLog().log };
    this.informer = new Informer(deps, { namespace, indexes: [byColor], ...options, type: Secrets });
    this.informer.onChange((now, before) => {
      const { name = "", resourceVersion = "" } = (now ?? before)?.metadata ?? {};
      this.story.push(`${now === undefined ? "-" : before === undefined ? "+" : "~"}${name}`);
      if (now !== undefined) this.versions.set(name, [...(this.versions.get(name) ?? []), resourceVersion]);
    });
  }

  static async prepare(server: ContractServer, options: Partial<InformerOptions<Secret>> & Tampering = {}): Promise<Following> {
    return new Following(server.client, await server.namespace(), options);
  }

  async start(): Promise<this> {
    this.informer.start();
    await this.informer.whenSynced();
    return this;
  }

  create(name: string, labels: Record<string, string> = {}): Promise<Secret> {
    return this.client.create(Secrets, aSecret(this.namespace, name, labels));
  }

  delete(name: string): Promise<void> {
    return this.client.delete(Secrets, { namespace: this.namespace, name });
  }

  /** The cache, index by index. */
  cached(): Record<string, Secret[]> {
    return byValue((color) => this.informer.objects.lookup(byColor, color));
  }

  /** The server's state, with the indexes computed from scratch. */
  async served(): Promise<Record<string, Secret[]>> {
    const { items } = await this.client.list(Secrets, { namespace: this.namespace });
    return byValue((color) => items.filter((object) => byColor.extract(object).includes(color)));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.informer.stop();
  }
}

/** The second watch is refused, as a server that has forgotten does. */
const expire: Tampering["watch"] = (options, count) => {
  if (count === 2) throw new ApiError("Expired", "too old resource version");
  return options;
};

/** The second watch is asked from the beginning of time. */
const longAgo: Tampering["watch"] = (options, count) => (count === 2 ? { ...options, resourceVersion: "1" } : options);

function byName(a: Secret, b: Secret): number {
  return (a.metadata.name ?? "").localeCompare(b.metadata.name ?? "");
}

function byValue(find: (color: string) => Iterable<Secret>): Record<string, Secret[]> {
  return Object.fromEntries(colors.map((color) => [color, [...find(color)].sort(byName)]));
}

export function informerContract(server: () => ContractServer): void {
  test("an informer shows what is there, in pages, then every change", async () => {
    await using following = await Following.prepare(server(), { pace: { pageSize: 2 } });
    for (const name of ["a", "b", "c", "d", "e"]) await following.create(name);
    await following.start();
    expect(following.story).toEqual(["+a", "+b", "+c", "+d", "+e"]);
    expect(following.tampered.lists).toBe(3);
    await following.client.patch(Secrets, { namespace: following.namespace, name: "b" }, paint("red"));
    await following.delete("a");
    await following.create("f");
    await eventually(() => expect(following.story.slice(5)).toEqual(["~b", "-a", "+f"]));
    expect(following.cached()).toEqual(await following.served());
  });

  test("writes between the list and the watch are not missed", async () => {
    await using following = await Following.prepare(server());
    await following.create("a");
    const late: Promise<unknown>[] = [];
    following.informer.onChange((now) => {
      if (now?.metadata.name === "a" && late.length === 0) late.push(following.create("b"));
    });
    await following.start();
    await Promise.all(late);
    await eventually(() => expect(following.story).toEqual(["+a", "+b"]));
  });

  test("a watch that the server ends is resumed without a gap, a repeat or a list", async () => {
    await using following = await Following.prepare(server(), { pace: { watchTimeoutMs: 1, heldMs: 100 } });
    await following.start();
    const wanted: string[] = [];
    for (let n = 0; following.tampered.watches < 4; n++) {
      await following.create(`n${n}`);
      wanted.push(`+n${n}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await eventually(() => expect(following.story).toEqual(wanted));
    expect(following.tampered.lists).toBe(1);
    expect(following.informer.health()).toEqual({ healthy: true });
  });

  test("an expired version is answered with a new list, which tells what differs", async () => {
    await using following = await Following.prepare(server(), { watch: expire, pace: { watchTimeoutMs: 1 } });
    for (const name of ["same", "changed", "gone"]) await following.create(name);
    await following.start();
    const same = following.informer.get({ namespace: following.namespace, name: "same" });
    await eventually(() => expect(following.tampered.watches).toBe(2));
    await following.client.patch(Secrets, { namespace: following.namespace, name: "changed" }, paint("red"));
    await following.delete("gone");
    await following.create("new");
    await eventually(async () => expect(following.cached()).toEqual(await following.served()));
    expect(following.tampered.lists).toBe(2);
    expect(following.story.slice(3).sort()).toEqual(["+new", "-gone", "~changed"]);
    expect(following.informer.get({ namespace: following.namespace, name: "same" })).toBe(same);
  });

  test("a watch from a version of long ago ends in the present state, whether the server still knows that version or not", async () => {
    await using following = await Following.prepare(server(), { watch: longAgo, pace: { watchTimeoutMs: 1 } });
    await following.create("a");
    await following.create("b");
    await following.delete("b");
    await following.start();
    await eventually(() => expect(following.tampered.watches).toBeGreaterThan(2));
    await following.create("c");
    await eventually(() => expect(following.story).toEqual(["+a", "+c"]));
    expect(following.cached()).toEqual(await following.served());
  });

  test("an informer of a selector sees objects come and go as their labels change", async () => {
    await using following = await Following.prepare(server(), { labelSelector: "color in (red)" });
    await following.create("a", { color: "red" });
    await following.create("b", { color: "blue" });
    await following.start();
    const key = { namespace: following.namespace, name: "b" };
    await following.client.patch(Secrets, key, paint("red"));
    await following.client.patch(Secrets, key, paint("blue"));
    await following.client.patch(Secrets, key, paint("red"));
    await eventually(() => expect(following.story).toEqual(["+a", "+b", "-b", "+b"]));
  });

  test("our own writes are read at once, and nothing goes backwards afterwards", async () => {
    await using following = await Following.prepare(server());
    await following.create("a");
    await following.start();
    const key = { namespace: following.namespace, name: "a" };
    for (let n = 0; n < 20; n++) {
      const written = await following.client.patch(Secrets, key, paint(`c${n}`));
      following.informer.remember(written);
      expect(following.informer.get(key)?.metadata.labels).toEqual({ color: `c${n}` });
    }
    await following.create("last");
    await eventually(() => expect(following.story.at(-1)).toBe("+last"));
    const told = following.versions.get("a") ?? [];
    expect(told).toHaveLength(21);
    expect(told).toEqual(told.toSorted(compareVersions));
  });

  test("an object that its own writer ends is gone, also when the writer's answer comes first", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const informer = new Informer<SandboxPool>({ client, clock: systemClock, log: recordedLog().log }, { type: SandboxPools, namespace });
    await using _ = { [Symbol.asyncDispose]: () => informer.stop() };
    informer.start();
    const key = { namespace, name: "held" };
    const held = { ...aPool(namespace, "held"), metadata: { ...key, finalizers: ["example.com/hold"] } };
    informer.remember(await client.create(SandboxPools, held));
    await client.delete(SandboxPools, key);
    await informer.whenSynced();
    await eventually(() => expect(informer.get(key)?.metadata.deletionTimestamp).toBeDefined());
    informer.remember(await client.patch(SandboxPools, key, { type: "merge", body: { metadata: { finalizers: [] } } }));
    await gone(client, SandboxPools, key);
    await eventually(() => expect(informer.get(key)).toBeUndefined());
  });

  test("after many writes at once cache and indexes equal the server", async () => {
    await using following = await Following.prepare(server(), { pace: { watchTimeoutMs: 1, heldMs: 100, pageSize: 7 } });
    await following.start();
    await Promise.all(
      Array.from({ length: 30 }, async (_, n) => {
        const key = { namespace: following.namespace, name: `n${n}` };
        await following.create(key.name, n % 2 === 0 ? { color: "red" } : {});
        if (n % 3 === 0) following.informer.remember(await following.client.patch(Secrets, key, paint("blue")));
        if (n % 5 === 0) await following.delete(key.name);
      }),
    );
    await eventually(async () => expect(following.cached()).toEqual(await following.served()));
  });

  test("a stopped informer hears nothing any more", async () => {
    await using following = await Following.prepare(server());
    await following.create("a");
    await following.start();
    await following.informer.stop();
    await following.create("b");
    expect(following.informer.objects.size).toBe(1);
    expect(following.story).toEqual(["+a"]);
  });
}
