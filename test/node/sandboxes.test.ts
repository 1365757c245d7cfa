/** The whole product as a process, with real containers, as its users meet it: over HTTP. */
import { expect, test } from "vitest";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import { describeSandboxStories } from "../world/sandbox-stories.ts";
import { UpProcess } from "../world/up-process.ts";

describeSandboxStories(() => UpProcess.onNewFolder(["base"]));

// Container runtimes of clusters wait for processes that keep the output open (docs/cluster.md).
test("a command has ended when it has, though something that it left running holds its output", async () => {
  await using up = await UpProcess.onNewFolder();
  await up.start();
  const { sandboxes } = new AgentBoxClient(await up.access());
  const { sandbox } = await sandboxes.create({ poolName: "base" });
  expect(await sandboxes.exec(sandbox.sandboxId, { command: ["sh", "-c", "echo on; sleep 987654 &"] })).toMatchObject({
    exitCode: 0,
    stdout: "on\n",
  });
});
