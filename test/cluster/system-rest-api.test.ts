/** The examples of docs/rest-api.md, unchanged, on real kubelets, with the agent of their node. */
import { inject } from "vitest";
import { describeRestExamples } from "../world/rest-examples.ts";
import { SystemWorld } from "./system-world.ts";

describeRestExamples(async () => {
  const world = await SystemWorld.open(inject("cluster"));
  await world.template("base");
  await world.pool("base", { replicas: 3 });
  await world.agent.start();
  return world;
});
