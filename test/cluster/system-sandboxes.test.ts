/** The stories of `test/node/sandboxes.test.ts`, unchanged, on real kubelets. */
import { inject } from "vitest";
import { describeSandboxStories } from "../world/sandbox-stories.ts";
import { SystemWorld } from "./system-world.ts";

describeSandboxStories(async () => {
  const world = await SystemWorld.open(inject("cluster"));
  await world.pool("base", { replicas: 3 });
  return world;
});
