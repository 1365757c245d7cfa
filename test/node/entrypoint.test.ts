/** What images run by themselves, on this machine. */
import { afterAll, beforeAll } from "vitest";
import { RealRegistry } from "../images/real-registry.ts";
import { describeEntrypointStories } from "../world/entrypoint-stories.ts";
import { UpProcess } from "../world/up-process.ts";

let registry: RealRegistry;
beforeAll(async () => {
  registry = await RealRegistry.start();
});
afterAll(() => registry[Symbol.asyncDispose]());

describeEntrypointStories(
  () => UpProcess.onNewFolder([]),
  () => registry.host,
);
