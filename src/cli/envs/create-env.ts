import { withoutUndefined } from "#lib/without-undefined.ts";
import type { EnvAutoscalingGroup } from "#model/env-autoscaling.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import { apiClient } from "../api-client.ts";
import { UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import type { WordAction } from "../word-action.ts";
import { printed } from "../print/listing.ts";
import { memberWish, oneEnv, policyFlags, policyWith, registryFlags, registryOf, sizeFlags } from "./env-words.ts";

const envFlags = ["namespace", "output", "template", "template-version", "image", "idle-timeout", "member", "replicas", "priority"];

export const createEnv: WordAction = {
  flags: [...envFlags, ...sizeFlags, ...policyFlags, ...registryFlags],
  run: async (context, words, args) => {
    const { name, namespace } = oneEnv("create", words, args);
    const groups = groupsFor(args);
    const imagePullSecret = await registryOf(context, args);
    const body = {
      metadata: { name, ...withoutUndefined({ namespace }) },
      spec: specFor(args, groups),
      members: [memberWish(args, args.text("member"))],
      ...withoutUndefined({ imagePullSecret }),
    };
    const env = await (await apiClient(context)).envs.create(body, context.signal);
    if (printed(context, args, env)) return 0;
    const { name: made = "" } = env.metadata;
    context.stdout.write(`env ${made} is created (watch it fill: agentbox envs show ${made})\n`);
    return 0;
  },
};

function specFor(args: Arguments, groups: readonly EnvAutoscalingGroup[]): SandboxEnv["spec"] {
  const template = args.text("template");
  if (template === undefined) throw new UsageError("envs create needs --template TEMPLATE; agentbox get sbt lists them");
  const overrides = withoutUndefined({ image: args.text("image"), defaultIdleTimeout: args.text("idle-timeout") });
  return {
    templateRef: { name: template, ...withoutUndefined({ version: args.text("template-version") }) },
    mode: "WarmPool",
    ...(Object.keys(overrides).length > 0 && { overrides }),
    ...(groups.length > 0 && { autoscaling: { groups } }),
  };
}

/** Sized by demand, unless a number or another mode is given. */
function groupsFor(args: Arguments): readonly EnvAutoscalingGroup[] {
  const group = args.text("group") ?? "default";
  if (!args.has("replicas"))
    return [policyWith(args, group, undefined) ?? { name: group, enabled: true, scaleUpPolicy: { mode: "Demand" } }];
  const given = (["min", "max", "mode"] as const).find((flag) => args.has(flag));
  if (given === undefined) return [];
  throw new UsageError(`--replicas sets a fixed size: remove --${given} or --replicas`);
}
