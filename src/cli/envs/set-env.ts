import { isClientError } from "#client/client-error.ts";
import type { EnvName, EnvsClient, RegistryCredentials } from "#client/envs.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import { apiClient } from "../api-client.ts";
import type { CliContext } from "../context.ts";
import { UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import type { WordAction } from "../word-action.ts";
import { printed } from "../print/listing.ts";
import { oneEnv, policyFlags, policyWith, registryFlags, registryOf } from "./env-words.ts";

const specFlags = ["template", "template-version", "image", "idle-timeout"] as const;
/** Flags that change pools only with a refresh. */
const templateFlags = ["template", "template-version"] as const;
const maxTries = 5;

export const setEnv: WordAction = {
  flags: ["namespace", "output", ...specFlags, ...policyFlags, ...registryFlags],
  run: async (context, words, args) => {
    const wanted = oneEnv("set", words, args);
    const { envs } = await apiClient(context);
    const credentials = await registryOf(context, args);
    const changesSpec = specFlags.some((flag) => args.has(flag)) || credentials !== undefined;
    const changesPolicy = (["min", "max", "mode"] as const).some((flag) => args.has(flag));
    if (!changesSpec && !changesPolicy) {
      throw new UsageError("envs set needs a value to set, such as --max 20, --mode Demand or --image IMAGE: see agentbox help envs");
    }
    if (changesSpec) await replaced(context, envs, { wanted, args, credentials });
    if (changesPolicy) await setPolicy(context, envs, wanted, args);
    const env = await envs.get(wanted, context.signal);
    if (printed(context, args, env)) return 0;
    context.stdout.write(`env ${wanted.name} is changed\n`);
    if (templateFlags.some((flag) => args.has(flag))) {
      context.stderr.write(`Its pools change only after: agentbox envs refresh ${wanted.name}\n`);
    }
    return 0;
  },
};

interface Replacement {
  readonly wanted: EnvName;
  readonly args: Arguments;
  readonly credentials: RegistryCredentials | undefined;
}

/** Conditional on the version that was read, so that two users at once do not overwrite each other. */
async function replaced({ signal }: CliContext, envs: EnvsClient, { wanted, args, credentials }: Replacement): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const { status: _, ...env } = await envs.get(wanted, signal);
    const body = { ...env, spec: changedSpec(env.spec, args), ...(credentials && { imagePullSecret: credentials }) };
    try {
      await envs.replace(wanted, body, signal);
      return;
    } catch (error) {
      if (attempt === maxTries || !isClientError(error, "conflict") || error.details.field !== undefined) throw error;
    }
  }
}

function changedSpec(spec: SandboxEnv["spec"], args: Arguments): SandboxEnv["spec"] {
  const { version: pinned, ...named } = spec.templateRef;
  const version = args.text("template-version") ?? pinned;
  const overrides = {
    ...spec.overrides,
    ...withoutUndefined({ image: args.text("image"), defaultIdleTimeout: args.text("idle-timeout") }),
  };
  return {
    ...spec,
    templateRef: {
      ...named,
      ...withoutUndefined({ name: args.text("template") }),
      // "current" removes the pin.
      ...(version !== undefined && version !== "current" && { version }),
    },
    ...(Object.keys(overrides).length > 0 && { overrides }),
  };
}

async function setPolicy({ signal }: CliContext, envs: EnvsClient, wanted: EnvName, args: Arguments): Promise<void> {
  const { groups } = await envs.autoscaling(wanted, signal);
  const [only, ...others] = groups;
  const name = args.text("group") ?? (others.length === 0 ? only?.name : undefined);
  if (name === undefined) {
    throw new UsageError(`Env ${wanted.name} has several groups: choose one with --group: ${groups.map((group) => group.name).join(", ")}`);
  }
  const policy = policyWith(args, name, groups.find((group) => group.name === name)?.policy);
  if (policy !== undefined) await envs.putGroup(wanted, name, policy, signal);
}
