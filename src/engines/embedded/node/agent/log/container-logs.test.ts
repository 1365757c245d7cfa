import { appendFile, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { eventually } from "../../../../../../test/world/eventually.ts";
import { recordedLog } from "../../../../../../test/world/recorded-log.ts";
import { SteppedClock } from "../../../../../../test/world/stepped-clock.ts";
import { ContainerLogs, type OpenLog } from "./container-logs.ts";
import { type WatchLog, watchedLog } from "./growing-logs.ts";
import type { LogLimits } from "./rotate-log.ts";

const pod = { namespace: "ns", name: "box", uid: "uid-1" };

class Scene implements AsyncDisposable {
  readonly clock = new SteppedClock(Date.now());
  readonly home: string;
  readonly logs: ContainerLogs;

  /** Changes in folders of logs that were quiet. */
  changes = 0;

  constructor(home: string, limits = { maxBytes: 100, maxFiles: 3 }) {
    this.home = home;
    const watchLog: WatchLog = (file, onChange) =>
      watchedLog(file, () => {
        onChange();
        this.changes += 1;
      });
    this.logs = new ContainerLogs({ home, clock: this.clock, log: recordedLog().log, limits, watchLog });
  }

  async read(request: Partial<OpenLog> = {}): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.logs.read({ pod, container: "main", attempt: 0, ...request })) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.logs.stop();
    await rm(this.home, { recursive: true, force: true });
  }
}

async function scene(limits?: LogLimits): Promise<Scene> {
  const made = new Scene(await mkdtemp(join(tmpdir(), "agentbox-logs-")), limits);
  await made.logs.start(() => true);
  return made;
}

/** Lets the keeper look at the files, which takes as long as disks take. */
async function look({ clock }: Scene, until: () => Promise<boolean>): Promise<void> {
  await eventually(async () => {
    await clock.step(1_000);
    expect(await until()).toBe(true);
  });
}

describe("files", () => {
  test("are kept by pod, container and attempt", async () => {
    await using world = await scene();
    expect(world.logs.prepare(pod, "main", 3)).toBe(join(world.home, "logs/pods/ns_box_uid-1/main/3.log"));
    expect((await stat(join(world.home, "logs/pods/ns_box_uid-1/main"))).isDirectory()).toBe(true);
  });

  test("of earlier attempts go, but for the last one", async () => {
    await using world = await scene();
    for (const attempt of [0, 1, 2]) await writeFile(world.logs.prepare(pod, "main", attempt), `attempt ${attempt}`);
    await eventually(async () => expect(await readdir(join(world.home, "logs/pods/ns_box_uid-1/main"))).toEqual(["1.log", "2.log"]));
  });

  test("go with their pod", async () => {
    await using world = await scene();
    await writeFile(world.logs.prepare(pod, "main", 0), "text");
    world.logs.remove(pod);
    await eventually(async () => expect(await readdir(join(world.home, "logs/pods"))).toEqual([]));
  });

  test("that have grown too long are cut under their writer, and older parts are kept beside", async () => {
    await using world = await scene();
    const file = world.logs.prepare(pod, "main", 0);
    for (const part of ["a", "b", "c", "d"]) {
      await appendFile(file, `${part.repeat(119)}\n`);
      await look(world, async () => (await stat(file)).size === 0);
    }
    await appendFile(file, "now\n");
    expect(await readdir(dirname(file))).toEqual(["0.log", "0.log.1", "0.log.2"]);
    // Of more than fits the end is kept.
    expect(await readFile(`${file}.1`, "utf8")).toBe(`${"d".repeat(99)}\n`);
    expect(await world.read()).toBe(`${"c".repeat(99)}\n${"d".repeat(99)}\nnow\n`);
  });

  test("in which nothing was written for minutes are kept short when something is", async () => {
    await using world = await scene();
    const file = world.logs.prepare(pod, "main", 0);
    await writeFile(file, "begins\n");
    for (let seconds = 0; seconds < 180; seconds++) await world.clock.step(1_000);
    await appendFile(file, "x".repeat(200));
    await eventually(() => expect(world.changes).toBeGreaterThan(0));
    await world.clock.step(1_000);
    await eventually(async () => expect((await stat(file)).size).toBe(0));
    expect(await readFile(`${file}.1`, "utf8")).toBe("x".repeat(100));
  });

  test("that an earlier agent left are kept short too", async () => {
    const home = await mkdtemp(join(tmpdir(), "agentbox-logs-"));
    const before = new Scene(home);
    const file = before.logs.prepare(pod, "main", 4);
    await writeFile(file, "x".repeat(200));
    await using world = new Scene(home);
    await world.logs.start(() => true);
    await look(world, async () => (await stat(file)).size === 0);
    expect(await readdir(dirname(file))).toEqual(["4.log", "4.log.1"]);
  });
});

describe("reading", () => {
  test("gives everything, or the last lines across all files", async () => {
    await using world = await scene();
    const file = world.logs.prepare(pod, "main", 0);
    await writeFile(`${file}.2`, "1\n2\n");
    await writeFile(`${file}.1`, "3\n4\n");
    await writeFile(file, "5\n6\nseven");
    expect(await world.read()).toBe("1\n2\n3\n4\n5\n6\nseven");
    expect(await world.read({ tail: 1 })).toBe("seven");
    expect(await world.read({ tail: 3 })).toBe("5\n6\nseven");
    expect(await world.read({ tail: 4 })).toBe("4\n5\n6\nseven");
    expect(await world.read({ tail: 6 })).toBe("2\n3\n4\n5\n6\nseven");
    expect(await world.read({ tail: 100 })).toBe("1\n2\n3\n4\n5\n6\nseven");
    expect(await world.read({ tail: 0 })).toBe("");
  });

  test("counts a line that ends with a newline once", async () => {
    await using world = await scene();
    await writeFile(world.logs.prepare(pod, "main", 0), "1\n2\n3\n");
    expect(await world.read({ tail: 2 })).toBe("2\n3\n");
  });

  test("of a container that wrote nothing gives nothing", async () => {
    await using world = await scene();
    expect(await world.read()).toBe("");
    expect(await world.read({ tail: 10 })).toBe("");
  });

  test("can begin where a time was", async () => {
    await using world = await scene();
    const file = world.logs.prepare(pod, "main", 0);
    await appendFile(file, "early\n");
    await world.clock.step(1_000);
    await eventually(async () => {
      await world.clock.step(1_000);
      expect(await world.read({ since: world.clock.now() })).toBe("");
    });
    const since = world.clock.now();
    await appendFile(file, "late\n");
    expect(await world.read({ since })).toBe("late\n");
    expect(await world.read({ since: 0 })).toBe("early\nlate\n");
  });

  test("a large file in pieces is the same text", async () => {
    await using world = await scene({ maxBytes: 1024 * 1024, maxFiles: 3 });
    const lines = Array.from({ length: 50_000 }, (_, number) => `line ${number}`);
    await writeFile(world.logs.prepare(pod, "main", 0), `${lines.join("\n")}\n`);
    expect(await world.read()).toBe(`${lines.join("\n")}\n`);
    expect(await world.read({ tail: 20_000 })).toBe(`${lines.slice(-20_000).join("\n")}\n`);
  });
});

describe("a log that its container made to look endless, without writing anything", () => {
  const endless = 2 ** 40;

  async function endlessScene(): Promise<{ readonly world: Scene; readonly file: string } & AsyncDisposable> {
    const world = await scene({ maxBytes: 200_000, maxFiles: 3 });
    const file = world.logs.prepare(pod, "main", 0);
    await writeFile(file, "");
    await truncate(file, endless);
    return { world, file, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
  }

  test("is read as far as the next cut would keep it, whole or by lines", async () => {
    await using endlessLog = await endlessScene();
    const { world, file } = endlessLog;
    await appendFile(file, "\nlast words\n");
    expect((await world.read()).length).toBe(200_000);
    expect(await world.read({ tail: 1 })).toBe("last words\n");
    expect((await world.read({ tail: 1_000_000 })).length).toBe(200_000);
    expect((await world.read({ since: 0 })).length).toBe(200_000);
  });

  test("is followed no further back either, and grows again without end only for those who still listen", async () => {
    await using endlessLog = await endlessScene();
    const { world, file } = endlessLog;
    const stop = new AbortController();
    const follow = { signal: stop.signal, isWritten: async () => true };
    let bytes = 0;
    const done = (async () => {
      for await (const chunk of world.logs.read({ pod, container: "main", attempt: 0, follow })) bytes += chunk.length;
    })();
    await eventually(() => expect(bytes).toBe(200_000));
    await truncate(file, 2 * endless);
    await eventually(async () => {
      await world.clock.step(100);
      expect(bytes).toBe(400_000);
    });
    stop.abort(new Error("gone"));
    await truncate(file, 3 * endless);
    await world.clock.step(100);
    await done;
    expect(bytes).toBe(400_000);
  });
});

test("a reader that has gone is read for no further, also while its lines are looked for", async () => {
  await using world = await scene({ maxBytes: 1024 * 1024, maxFiles: 3 });
  await writeFile(world.logs.prepare(pod, "main", 0), "x".repeat(1024 * 1024));
  const signal = AbortSignal.abort(new Error("gone"));
  expect(await world.read({ signal })).toBe("");
  expect(await world.read({ signal, tail: 1 })).toBe("");
  const leaving = new AbortController();
  let bytes = 0;
  for await (const chunk of world.logs.read({ pod, container: "main", attempt: 0, signal: leaving.signal })) {
    bytes += chunk.length;
    leaving.abort(new Error("gone"));
  }
  expect(bytes).toBe(64 * 1024);
});

describe("following", () => {
  test("goes on until the container has ended and everything is read", async () => {
    await using world = await scene();
    const file = world.logs.prepare(pod, "main", 0);
    await writeFile(file, "one\n");
    let isWritten = true;
    const follow = { signal: new AbortController().signal, isWritten: async () => isWritten };
    let text = "";
    const done = (async () => {
      for await (const chunk of world.logs.read({ pod, container: "main", attempt: 0, follow })) text += chunk.toString();
    })();
    await eventually(() => expect(text).toBe("one\n"));
    await appendFile(file, "two\n");
    await eventually(async () => {
      await world.clock.step(100);
      expect(text).toBe("one\ntwo\n");
    });
    await appendFile(file, "last words\n");
    isWritten = false;
    await world.clock.step(100);
    await done;
    expect(text).toBe("one\ntwo\nlast words\n");
  });

  test("loses nothing when the file is cut in between", async () => {
    await using world = await scene();
    const file = world.logs.prepare(pod, "main", 0);
    const stop = new AbortController();
    const follow = { signal: stop.signal, isWritten: async () => true };
    let text = "";
    const done = (async () => {
      for await (const chunk of world.logs.read({ pod, container: "main", attempt: 0, follow })) text += chunk.toString();
    })();
    let expected = "";
    for (let round = 0; round < 4; round++) {
      const part = `${String(round).repeat(60)}\n`;
      expected += part;
      await appendFile(file, part);
      await eventually(async () => {
        await world.clock.step(1_000);
        expect(text).toBe(expected);
      });
    }
    stop.abort(new Error("enough"));
    await world.clock.step(100);
    await done;
    await eventually(async () => expect(await readdir(dirname(file))).toContain("0.log.1"));
  });
});

test("the last words of a container are the end of its log", async () => {
  await using world = await scene();
  await writeFile(world.logs.prepare(pod, "main", 0), `${"x".repeat(5_000)}\nout of luck\n`);
  const words = world.logs.lastWords(pod, "main", 0);
  expect(words).toHaveLength(2_048);
  expect(words.endsWith("out of luck\n")).toBe(true);
  expect(world.logs.lastWords(pod, "main", 9)).toBe("");
});
