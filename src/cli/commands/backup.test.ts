import { expect, test } from "vitest";
import { agentbox, type CliSurroundings } from "../../../test/world/run-cli.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import type { TextSink } from "../context.ts";
import type { BackupRequest, BackupStep, MachineBackups, RestoreRequest } from "../machine-backups.ts";
import { StepProgress } from "../print/step-progress.ts";

const at = Date.parse("2026-01-31T04:05:06Z");

/** A machine on which every backup succeeds; what it is asked for is noted. */
function machine(): {
  readonly asked: (BackupRequest | RestoreRequest)[];
  readonly folders: (string | undefined)[];
  readonly surroundings: CliSurroundings;
} {
  const asked: (BackupRequest | RestoreRequest)[] = [];
  const folders: (string | undefined)[] = [];
  const backups: MachineBackups = {
    make: async (request) => {
      asked.push(request);
      const images = request.images ? ["docker.io/library/own:1"] : undefined;
      return { files: 8, bytes: 1_500_000, at, images, historyElsewhere: "PostgreSQL at db:5432/boxes", leftOut: ["link"] };
    },
    restore: async (request) => {
      asked.push(request);
      return {
        folder: "/srv/boxes",
        files: 8,
        bytes: 1_500_000,
        at,
        version: "1.0.0",
        images: ["a", "b"],
        historyElsewhere: undefined,
        putAside: "/srv/boxes.old",
      };
    },
  };
  const open = async (folder?: string): Promise<MachineBackups> => {
    folders.push(folder);
    return backups;
  };
  return { asked, folders, surroundings: { backups: open, cwd: "/home/me" } };
}

test("backup says what it has written, of which moment, and what is not in it", async () => {
  const { asked, surroundings } = machine();
  expect(await agentbox(["backup", "b.tar", "--images"], surroundings)).toEqual({
    code: 0,
    stderr: "",
    stdout:
      "Backup in /home/me/b.tar: 8 files, 1.5MB, 1 imported image; the state of 2026-01-31T04:05:06.000Z\n" +
      "The history is not in it: it is in PostgreSQL at db:5432/boxes. Back it up with pg_dump\n" +
      "Left out, because it is no file: link\n",
  });
  expect(asked).toMatchObject([{ file: "/home/me/b.tar", images: true, replace: false }]);
});

test("backup to standard output says nothing there but the backup", async () => {
  const { asked, surroundings } = machine();
  expect(await agentbox(["backup", "-"], surroundings)).toMatchObject({
    code: 0,
    stdout: "",
    stderr: expect.stringContaining("Backup: 8 files"),
  });
  expect(asked).toMatchObject([{ file: "-" }]);
});

test("restore says where the data is, and where the old data is", async () => {
  const { surroundings } = machine();
  expect((await agentbox(["restore", "b.tar", "--replace"], surroundings)).stdout).toBe(
    "Restored /srv/boxes: 8 files, 1.5MB, 2 imported images; the state of 2026-01-31T04:05:06.000Z, made by AgentBox 1.0.0\n" +
      "What was there before is in /srv/boxes.old\nStart it with: agentbox up\n",
  );
});

test.each([[["backup"]], [["restore"]], [["backup", "a", "b"]], [["restore", ""]]])("%j is a usage error", async (argv) => {
  expect(await agentbox(argv, machine().surroundings)).toMatchObject({ code: 2, stderr: expect.stringContaining("needs one FILE, or -") });
});

test("both are of data folders on this machine, also of the one that a context names", async () => {
  const contexts = { here: { home: "/srv/boxes" }, far: { url: "https://api.boxes.test", key: "k" } };
  const { folders, surroundings } = machine();
  const store = { path: "/c.json", read: async () => ({ contexts }), write: async () => {} };
  expect(await agentbox(["--context", "here", "backup", "b.tar"], { ...surroundings, contexts: store })).toMatchObject({ code: 0 });
  expect(folders).toEqual(["/srv/boxes"]);
  for (const command of ["backup", "restore"]) {
    const { code, stderr } = await agentbox(["--context", "far", command, "b.tar"], { ...surroundings, contexts: store });
    expect([code, stderr]).toEqual([1, expect.stringContaining("the context far is a server elsewhere")]);
  }
});

test("progress is shown on a terminal, after two seconds, and goes with the end", async () => {
  const clock = new SteppedClock();
  let shown = "";
  const out: TextSink = { write: (text) => (shown += text), isTTY: true };
  const progress = new StepProgress(out, clock);
  const step: BackupStep = { doing: "copying objects", done: 10, total: 40, unit: "pages" };
  await clock.step(1999);
  progress.update(step);
  expect(shown).toBe("");
  await clock.step(1);
  progress.update(step);
  progress.update({ ...step, done: 20 });
  expect(shown).toBe("\r\u001b[2Kcopying objects: 25 %");
  await clock.step(200);
  progress.update({ doing: "writing data/objects.db", done: 1_000_000, total: 2_000_000, unit: "bytes" });
  expect(shown).toContain("writing data/objects.db: 1MB of 2MB");
  progress.finish();
  expect(shown.endsWith("\r\u001b[2K")).toBe(true);
});
