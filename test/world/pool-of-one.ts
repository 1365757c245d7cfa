import { expect } from "vitest";
import { SandboxPools } from "#model/sandbox-pool.ts";
import type { SystemUnderTest } from "./sandbox-stories.ts";

/** A pool with a single pod of the same template as `base`: the next sandbox in it gets the pod of the one before. Returns its name. */
export async function poolOfOne({ client, namespace }: SystemUnderTest): Promise<string> {
  const poolBase = async () => (await client.list(SandboxPools, { namespace })).items.find(({ metadata }) => metadata.name === "base");
  // A controller makes it after the start of the server.
  await expect.poll(poolBase, { timeout: 60_000 }).toBeDefined();
  // A pool of an Env brings its template with it, a pool of its own names one.
  const { templateName, template } = (await poolBase())?.spec ?? {};
  const name = "single";
  await client.create(SandboxPools, {
    metadata: { namespace, name },
    spec: {
      replicas: 1,
      podCreationImagePolicy: "PoolDefaultImage",
      ...(templateName === undefined ? {} : { templateName }),
      ...(template === undefined ? {} : { template }),
    },
  });
  return name;
}
