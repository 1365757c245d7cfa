/** The stories of `test/node/pausing.test.ts`, unchanged, on real kubelets, with the agent of their node. */
import { inject } from "vitest";
import { describePausingStories } from "../world/pausing-stories.ts";
import { SystemWorld } from "./system-world.ts";

describePausingStories(async () => {
  const world = await SystemWorld.open(inject("cluster"));
  await world.pool("base", { replicas: 3 });
  await world.agent.start();
  return world;
});
