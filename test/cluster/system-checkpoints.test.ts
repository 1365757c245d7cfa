/** The stories of `test/node/checkpoints.test.ts` on real kubelets: the agent of the node pushes, and the kubelet pulls. */
import { join } from "node:path";
import { inject } from "vitest";
import { checkpointIn } from "#model/checkpoint-image.ts";
import { describeCheckpointStories } from "../world/checkpoint-stories.ts";
import { SystemWorld } from "./system-world.ts";

/** Below it each checkpoint of this run has its repository. */
const folder = `test-checkpoints/${process.pid}`;

async function open(): Promise<SystemWorld> {
  const cluster = inject("cluster");
  const world = await SystemWorld.open(cluster, [], { checkpointRepository: `${cluster.registry}/${folder}` });
  await world.pool("base", { replicas: 6 });
  await world.start();
  await world.agent.start();
  return world;
}

/** Repositories with an image; a registry goes on to list those whose images are gone. */
async function images({ cluster: { registry } }: SystemWorld): Promise<number> {
  const ask = async (path: string): Promise<{ readonly repositories?: readonly string[]; readonly tags?: readonly string[] | null }> =>
    (await (await fetch(`http://${registry}/v2/${path}`)).json()) as object;
  const { repositories = [] } = await ask("_catalog?n=10000");
  const ours = repositories.filter((name) => name.startsWith(`${folder}/`) && checkpointIn(join("/", name)) !== undefined);
  const tags = await Promise.all(ours.map(async (name) => (await ask(`${name}/tags/list`)).tags ?? []));
  return tags.flat().length;
}

describeCheckpointStories({ open, keepsAll: false, images });
