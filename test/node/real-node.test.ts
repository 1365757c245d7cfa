import { expect, test } from "vitest";
import { startRealNode } from "../world/real-node.ts";

test("a sandbox of the machine's own programs runs Python, bash and git as root and as user", async () => {
  await using world = await startRealNode();
  await world.sandbox("one");
  expect(await world.run("one", ["python3", "-c", "print(6*7)"])).toMatchObject({ code: 0, stdout: "42\n" });
  expect(await world.run("one", ["bash", "-c", "id -un; exit 3"], { user: "user" })).toMatchObject({ code: 3, stdout: "user\n" });
  expect((await world.run("one", ["git", "--version"])).stdout).toMatch(/^git version/);
  await world.remove("one");
});
