/** The story of `test/node/sandboxes-by-command.test.ts`, unchanged, on real kubelets, with the agent of their node. */
import { inject } from "vitest";
import { describeCommandLineStories } from "../world/command-line-stories.ts";
import { SystemWorld } from "./system-world.ts";

describeCommandLineStories(async () => {
  const world = await SystemWorld.open(inject("cluster"));
  await world.pool("base", { replicas: 3 });
  await world.agent.start();
  return world;
});
