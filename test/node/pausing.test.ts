/** Pausing over HTTP and from the command line, through services and node, with real processes. */
import { expect, test } from "vitest";
import { describePausingStories } from "../world/pausing-stories.ts";
import { UpProcess } from "../world/up-process.ts";

describePausingStories(() => UpProcess.onNewFolder());

const counter = "i=0; while :; do i=$((i+1)); echo $$ $i > /tmp/new; mv /tmp/new /tmp/count; sleep 0.01; done";

async function counted(up: UpProcess, id: string): Promise<readonly [pid: number, count: number]> {
  const { stdout } = await up.agentbox("exec", id, "--", "sh", "-c", "until cat /tmp/count 2>/dev/null; do sleep 0.05; done");
  const [pid = 0, count = 0] = stdout.trim().split(" ").map(Number);
  return [pid, count];
}

test("a sandbox is paused and resumed from the command line", async () => {
  await using up = await UpProcess.onNewFolder();
  await up.start();
  const id = (await up.agentbox("run", "base", "--timeout", "1h")).stdout.trim();
  expect(await up.agentbox("exec", id, "--", "sh", "-c", `(${counter}) > /dev/null 2>&1 &`)).toMatchObject({ code: 0 });
  const [pid, first] = await counted(up, id);
  expect(first).toBeGreaterThan(0);

  expect(await up.agentbox("pause", id)).toMatchObject({ code: 0, stderr: "" });
  expect(await up.agentbox("pause", id)).toMatchObject({ code: 0 });
  expect(await up.agentbox("exec", id, "--", "true")).toMatchObject({ code: 1, stderr: expect.stringContaining("paused") });
  await up.process.kill();
  await up.start();
  expect(await up.agentbox("exec", id, "--", "true")).toMatchObject({ code: 1, stderr: expect.stringContaining("paused") });

  expect(await up.agentbox("resume", id)).toMatchObject({ code: 0, stderr: "" });
  expect(await up.agentbox("resume", id)).toMatchObject({ code: 0 });
  const [samePid, second] = await counted(up, id);
  expect([samePid, second > first]).toEqual([pid, true]);
  await expect.poll(async () => (await counted(up, id))[1]).toBeGreaterThan(second);
  expect((await up.agentbox("ls", "-o", "name")).stdout).toContain(id);
});
