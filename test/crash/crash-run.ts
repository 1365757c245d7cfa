/**
 * The embedded server under write load, killed with SIGKILL at random instants and started again:
 * no acknowledged write is lost, no version is used twice, watchers resume without a gap.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { kubernetesClient } from "#engines/kubernetes/client.ts";
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { ConfigMaps, type ConfigMap } from "#model/core-kinds.ts";
import { Journal, type Acknowledged } from "./journal.ts";
import { ServerProcess } from "./server-process.ts";

export interface CrashOptions {
  readonly kills: number;
  readonly writers: number;
  readonly watchers: number;
  /** Between 0 and 1, for the instants of the kills. */
  readonly random: () => number;
  readonly onRound?: (round: number, journal: Journal) => void;
}

export interface CrashReport {
  readonly writes: number;
  readonly restartsMs: readonly number[];
  readonly problems: readonly string[];
}

const namespace = "default";

export async function crashRun(options: CrashOptions): Promise<CrashReport> {
  const home = await mkdtemp(join(tmpdir(), "agentbox-crash-"));
  const server = new ServerProcess(home);
  const journal = new Journal();
  const restartsMs: number[] = [];
  try {
    await server.start();
    const watched = Array.from({ length: options.watchers }, () => new ResumingWatcher());
    for (let round = 0; round <= options.kills; round++) {
      const client = await kubernetesClient({ socketPath: server.socketPath });
      journal.compare(await present(client));
      const stopWriting = new AbortController();
      const stopWatching = new AbortController();
      const watching = watched.map((watcher) => watcher.run(client, stopWatching.signal));
      const writing = Array.from({ length: options.writers }, (_, writer) => write(client, writer, journal, stopWriting.signal));
      // By what was done, not by the clock: a slow machine kills in the middle of its work too.
      await journal.more(20 + Math.floor(options.random() * 100));
      const last = round === options.kills;
      if (!last) await server.kill();
      stopWriting.abort();
      await Promise.all(writing);
      if (last) {
        const newest = Math.max(...(await present(client)).map((state) => state.version));
        await Promise.all(watched.map((watcher) => watcher.reached(newest)));
      }
      stopWatching.abort();
      await Promise.all(watching);
      await client.close();
      options.onRound?.(round, journal);
      if (round < options.kills) {
        const began = performance.now();
        await server.start();
        restartsMs.push(performance.now() - began);
      }
    }
    for (const watcher of watched) journal.compareWatch(watcher.seen);
    await server.stop();
  } finally {
    await server.kill();
    await rm(home, { recursive: true, force: true });
  }
  return { writes: journal.writes, restartsMs, problems: journal.problems };
}

/** One writer: creates its object and raises its value by conditional patches until the server is gone. */
async function write(client: ObjectClient, writer: number, journal: Journal, stop: AbortSignal): Promise<void> {
  const key = { namespace, name: `writer-${writer}` };
  const fail = (error: unknown): void => {
    // The server was killed under the call: what it did is unknown, and that is what the journal allows for.
    if (!isApiError(error, "Unreachable") && !stop.aborted) throw error;
  };
  try {
    let current = await client.get(ConfigMaps, key).catch((error: unknown) => {
      if (isApiError(error, "NotFound")) return client.create(ConfigMaps, { metadata: key, data: { value: "0" } });
      throw error;
    });
    journal.acknowledged(stateOf(current));
    while (!stop.aborted) {
      const value = Number(current.data?.["value"]) + 1;
      current = await client.patch(
        ConfigMaps,
        key,
        { type: "merge", body: { metadata: { resourceVersion: current.metadata.resourceVersion ?? "" }, data: { value: String(value) } } },
        { signal: stop },
      );
      journal.acknowledged(stateOf(current));
    }
  } catch (error) {
    fail(error);
  }
}

async function present(client: ObjectClient): Promise<Acknowledged[]> {
  return (await client.list(ConfigMaps, { namespace })).items.map(stateOf);
}

function stateOf(object: ConfigMap): Acknowledged {
  return { name: object.metadata.name ?? "", value: Number(object.data?.["value"]), version: Number(object.metadata.resourceVersion) };
}

/** Watches over all lives of the server, going on from the last version it saw, never listing again. */
class ResumingWatcher {
  readonly seen: Acknowledged[] = [];
  #last = "1";
  #arrived: { version: number; tell: () => void } | undefined;

  async run(client: ObjectClient, stop: AbortSignal): Promise<void> {
    try {
      for await (const event of client.watch(ConfigMaps, { namespace, resourceVersion: this.#last, signal: stop })) {
        if (event.type === "BOOKMARK") continue;
        const state = stateOf(event.object);
        this.seen.push(state);
        this.#last = String(state.version);
        if (this.#arrived !== undefined && state.version >= this.#arrived.version) this.#arrived.tell();
      }
    } catch (error) {
      if (!isApiError(error, "Unreachable") && !stop.aborted) throw error;
    }
  }

  /** Resolves when the watcher has seen everything up to a version. */
  async reached(version: number): Promise<void> {
    if (Number(this.#last) >= version) return;
    await new Promise<void>((tell) => (this.#arrived = { version, tell }));
  }
}
