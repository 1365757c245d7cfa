import { describe, expect, test } from "vitest";
import { aPoolPod } from "../../../test/world/pool-pods.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { sleep } from "#lib/clock.ts";
import type { ReadLogs } from "#kube/pod-access.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { EndedLog } from "#store/logs/log-store.ts";
import { LogKeeper } from "./keep-log.ts";
import { planKeptLog } from "./plan-kept-log.ts";

const clock = new SteppedClock();
const now = new Date(clock.now()).toISOString();

function stopped({ had, has, started = true }: { readonly had?: string; readonly has?: string; readonly started?: boolean } = {}): Pod {
  const pod = aPoolPod({ phase: "stopping", id: "i1" });
  const { [annotationKeys.containerId]: _, [annotationKeys.startedAt]: __, ...annotations } = pod.metadata.annotations ?? {};
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      annotations: {
        ...annotations,
        [annotationKeys.claimedAt]: now,
        ...(had !== undefined && { [annotationKeys.containerId]: had }),
        ...(started && { [annotationKeys.startedAt]: now }),
      },
    },
    status: {
      ...pod.status,
      containerStatuses: has === undefined ? [] : [{ name: pod.spec.containers[0]?.name ?? "", containerID: has }],
    } as unknown as NonNullable<Pod["status"]>,
  };
}

describe("which log is the sandbox's", () => {
  test("that of its own container, or of the one before if that was exchanged", () => {
    expect(planKeptLog(stopped({ had: "c1", has: "c1" }))).toMatchObject({ previous: false });
    expect(planKeptLog(stopped({ had: "c1", has: "c2" }))).toMatchObject({ previous: true });
  });

  test("I2: none, where the pod does not prove which container it had", () => {
    expect(planKeptLog(stopped({ has: "c2" }))).toBeUndefined();
    expect(planKeptLog(stopped({ had: "c1" }))).toBeUndefined();
    expect(planKeptLog(stopped({ had: "c1", has: "c2", started: false }))).toBeUndefined();
  });
});

function keeper(read: (request: ReadLogs) => AsyncIterable<Buffer>, maxBytes = 100) {
  const asked: ReadLogs[] = [];
  const kept: EndedLog[] = [];
  const trims: string[] = [];
  const pods = {
    readLogs: (request: ReadLogs) => {
      asked.push(request);
      return read(request);
    },
  };
  const store = {
    put: async (log: EndedLog) => void kept.push(log),
    trim: async (team: string, bytes: number) => void trims.push(`${team} ${bytes}`),
  };
  return { asked, kept, trims, keeper: new LogKeeper({ pods, store, clock, log: recordedLog().log, maxBytes }) };
}

async function* pieces(...texts: readonly string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

describe("keeping a log", () => {
  test("has it for the owner of the sandbox, once for each container that was looked at", async () => {
    const { keeper: logs, kept, asked } = keeper(() => pieces("one\n", "two\n"));
    await logs.keep(stopped({ had: "c1", has: "c1" }));
    await logs.keep(stopped({ had: "c1", has: "c1" }));
    await logs.keep(stopped({ had: "c1", has: "c2" }));
    await logs.keep(stopped({ had: "c1", has: "c2" }));
    expect(asked.map(({ previous }) => previous)).toEqual([false, true]);
    expect(kept.map(({ sandboxId, text, truncated }) => [sandboxId, text.toString(), truncated])).toEqual([
      ["i1", "one\ntwo\n", false],
      ["i1", "one\ntwo\n", false],
    ]);
  });

  test("of a long one the end, from the beginning of a line", async () => {
    const lines = Array.from({ length: 500 }, (_, index) => `line ${index}\n`);
    const { keeper: logs, kept } = keeper(() => pieces(...lines), 25);
    await logs.keep(stopped({ had: "c1", has: "c1" }));
    expect([kept[0]?.text.toString(), kept[0]?.truncated]).toEqual(["line 498\nline 499\n", true]);
  });

  test("of one that comes in half a million pieces the end, without putting it together anew with each", async () => {
    const { keeper: logs, kept } = keeper(async function* () {
      for (let left = 500_000; left > 0; left--) yield Buffer.from("line 12345\n");
    }, 1024 * 1024);
    await logs.keep(stopped({ had: "c1", has: "c1" }));
    expect(kept[0]?.text.length).toBeGreaterThan(1024 * 1024 - 11);
  });

  test("of one that wrote nothing there is none, and a log that cannot be read fails nothing", async () => {
    const { keeper: nothing, kept } = keeper(() => pieces());
    await nothing.keep(stopped({ had: "c1", has: "c1" }));
    const broken = keeper(async function* () {
      yield Buffer.from("x");
      throw new Error("gone");
    });
    await broken.keeper.keep(stopped({ had: "c1", has: "c1" }));
    expect([kept, broken.kept]).toEqual([[], []]);
  });

  test("a node that does not answer holds up a pod for three seconds at most, and is asked no further", async () => {
    let asked: AbortSignal | undefined;
    const { keeper: logs, kept } = keeper(async function* ({ signal }) {
      asked = signal;
      yield Buffer.from("x\n");
      await sleep(clock, 60_000, signal);
    });
    let isOver = false;
    void logs.keep(stopped({ had: "c1", has: "c1" })).then(() => (isOver = true));
    await clock.step(2999);
    expect(isOver).toBe(false);
    await clock.step(1);
    expect([isOver, asked?.aborted, kept]).toEqual([true, true, []]);
  });

  test("a team's logs are trimmed now and then, to 256 times what is kept of one", async () => {
    const { keeper: logs, trims } = keeper(() => pieces("x\n"));
    for (let turn = 0; turn < 100; turn++) {
      const pod = stopped({ had: "c1", has: "c1" });
      await logs.keep({ ...pod, metadata: { ...pod.metadata, name: `p${turn}` } });
    }
    expect(trims).toHaveLength(2);
    expect(trims[0]).toMatch(/ 25600$/);
  });
});
