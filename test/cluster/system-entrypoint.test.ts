/** The stories of `test/node/entrypoint.test.ts`, unchanged, on real kubelets. */
import { inject } from "vitest";
import { describeEntrypointStories } from "../world/entrypoint-stories.ts";
import { SystemWorld } from "./system-world.ts";

describeEntrypointStories(
  () => SystemWorld.open(inject("cluster")),
  () => inject("cluster").registry,
);
