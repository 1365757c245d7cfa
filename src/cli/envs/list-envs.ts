import { conditionIn } from "#model/conditions.ts";
import { envConditions } from "#model/keys.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import { apiClient } from "../api-client.ts";
import { UsageError } from "../failure.ts";
import { age } from "../print/human-duration.ts";
import { type ListColumn, listingFlags, showListing } from "../print/listing.ts";
import type { WordAction } from "../word-action.ts";

export const listEnvs: WordAction = {
  flags: ["namespace", ...Object.keys(listingFlags)],
  run: async (context, words, args) => {
    if (words.length > 0) throw new UsageError(`envs ls takes no names: unexpected ${words.join(" ")}. See agentbox envs show NAME`);
    const { envs } = await apiClient(context);
    return await showListing(context, args, {
      load: () => envs.list(args.text("namespace"), context.signal),
      nameOf: ({ metadata }) => metadata.name ?? "",
      columns: envColumns,
      empty: "No Envs (create one: agentbox envs create NAME --template TEMPLATE)",
      changeOf: ({ spec, status }) => [spec, status],
    });
  },
};

export const envColumns: readonly ListColumn<SandboxEnv>[] = [
  { name: "NAME", cell: ({ metadata }) => metadata.name },
  { name: "NAMESPACE", wide: true, cell: ({ metadata }) => metadata.namespace },
  { name: "MODE", cell: ({ spec }) => spec.mode },
  { name: "TEMPLATE", cell: ({ spec }) => spec.templateRef.name },
  { name: "MEMBERS", cell: ({ status }) => status?.memberCount ?? "-" },
  { name: "DESIRED", cell: ({ status }) => status?.desiredReplicas ?? "-" },
  { name: "RUNNING", cell: ({ status }) => status?.runningReplicas ?? "-" },
  { name: "IDLE", cell: ({ status }) => status?.idleReplicas ?? "-" },
  { name: "WAITING", cell: ({ status }) => status?.waitingRequests ?? "-" },
  { name: "READY", cell: (env) => conditionIn(env, envConditions.ready)?.status ?? "-" },
  { name: "REASON", cell: (env) => conditionIn(env, envConditions.ready)?.reason ?? "-" },
  { name: "AGE", cell: ({ metadata }, now) => age(metadata.creationTimestamp, now) },
];
