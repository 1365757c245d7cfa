/**
 * The ways out of containers that runc had until November 2025. In all of them an accomplice changes files under the runtime while it makes or
 * enters a container, so that a mount or a write of the runtime goes to another file of /proc. The accomplice here is a second container of
 * the same pod, with which the first shares a volume at the very place that the runtime uses.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ContainerMount, ContainerPlan } from "#engines/embedded/node/pod-runtime.ts";
import { NodeWorld } from "../runtime/node-world.ts";

/** Where a mount or a write must never end: with it the machine would run a program of the sandbox's choice. */
const target = "/proc/sys/kernel/core_pattern";
const attempts = 12;

let world: NodeWorld;
let uid: string;
let corePattern: string;
beforeAll(async () => {
  corePattern = readFileSync(target, "utf8");
  world = await NodeWorld.open();
  ({ uid } = await world.pod());
});
afterAll(() => world[Symbol.asyncDispose]());

const shared = (path: string): ContainerMount[] => [{ kind: "emptyDir", name: "shared", path, readOnly: false, memory: false }];

/** Goes on until it is removed. */
async function withAccomplice(script: string, attack: () => Promise<void>): Promise<void> {
  const accomplice = await world.start(uid, { name: "accomplice", argv: ["/bin/sh", "-c", script], mounts: shared("/shared") });
  try {
    await attack();
  } finally {
    await world.runtime.removeContainer(accomplice.id);
  }
  expect(readFileSync(target, "utf8")).toBe(corePattern);
}

/** What a container sees mounted, one line each; undefined if the runtime refused to make it, which is as good. */
async function mountsSeen(wish: Partial<ContainerPlan>): Promise<string | undefined> {
  const plan = world.plan(uid, { name: "victim", argv: ["/bin/cat", "/proc/self/mountinfo"], ...wish });
  try {
    await world.runtime.createContainer(plan);
    await world.runtime.startContainer(plan.id);
    await world.exitOf(plan.id);
    return world.logOf(plan);
  } catch {
    return undefined;
  } finally {
    await world.runtime.removeContainer(plan.id);
  }
}

/** A link in place of a file, and the file again, as fast as it goes. */
const swaps = (name: string): string =>
  `cd /shared; while :; do busybox ln -sf ${target} other; busybox mv -f other ${name}; busybox rm -f ${name}; busybox touch ${name}; done`;

describe("by a file of /proc in place of a device", () => {
  test("that hidden paths are covered with, nothing is shown or opened for writing (CVE-2025-31133)", async () => {
    await withAccomplice(swaps("null"), async () => {
      for (let attempt = 0; attempt < attempts; attempt++) {
        expect((await mountsSeen({ mounts: shared("/dev") })) ?? "").not.toContain("core_pattern");
      }
    });
  });

  test("that is a command's terminal, nothing is mounted at its console (CVE-2025-52565)", async () => {
    await withAccomplice(`${swaps("console")} & cd /shared; mkdir -p pts; ${swaps("pts/0")}`, async () => {
      const box = await world.start(uid, { name: "box", mounts: shared("/dev") }).catch(() => undefined);
      // A runtime that makes no container there has no terminal to give either.
      if (box === undefined) return;
      for (let attempt = 0; attempt < attempts; attempt++) {
        const session = world.runtime.exec(box.id, { argv: ["/bin/cat", "/proc/self/mountinfo"], tty: { rows: 24, cols: 80 } });
        let seen = "";
        session.stdout.on("data", (chunk: Buffer) => (seen += chunk.toString()));
        await session.exitCode.catch(() => undefined);
        expect(seen).not.toContain("core_pattern");
      }
      await world.runtime.removeContainer(box.id);
    });
  });
});

describe("by a folder of the sandbox's own in place of /proc", () => {
  const fakes = `mkdir -p self/attr thread-self/attr sys/net; for f in self/attr/exec self/attr/keycreate self/oom_score_adj self/setgroups \
    thread-self/attr/exec sysrq-trigger; do busybox ln -sf ${target} $f; done`;

  test.each(["/proc", "/proc/self", "/proc/self/attr", "/proc/sys"])(
    "at %s, nothing that the runtime writes goes elsewhere (CVE-2025-52881)",
    async (path) => {
      const below = path.replace(/^\/proc\/?/, "");
      await withAccomplice(
        `cd /shared; while :; do ${fakes}; ${below === "" ? "true" : `busybox cp -a ${below}/. .`}; done 2>/dev/null`,
        async () => {
          for (let attempt = 0; attempt < 4; attempt++) {
            const plan = world.plan(uid, { name: "victim", argv: ["/bin/sleep", "100"], mounts: shared(path) });
            const isMade = await world.runtime.createContainer(plan).then(
              () => true,
              () => false,
            );
            await world.runtime.removeContainer(plan.id);
            expect({ path, isMade }).toEqual({ path, isMade: false });
          }
        },
      );
    },
  );

  test("a link at /proc is not followed", async () => {
    await withAccomplice(`cd /shared; ${fakes}; sleep 100`, async () => {
      expect(await mountsSeen({ mounts: [...shared("/proc/../../proc")] })).toBeUndefined();
    });
  });
});
