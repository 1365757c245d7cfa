/** Parses the words and flags of `agentbox envs`. */
import type { EnvMemberWish, EnvName, RegistryCredentials } from "#client/envs.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { EnvAutoscalingGroup } from "#model/env-autoscaling.ts";
import type { CliContext } from "../context.ts";
import { UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";

/** Modes of a group's policy, and `off` for no policy. */
export const groupModes = ["Demand", "Conservative", "Default", "Aggressive", "off"] as const;

export const sizeFlags = ["cpu", "memory", "instance-type", "multiplier"] as const;
export const policyFlags = ["group", "min", "max", "mode"] as const;
export const registryFlags = ["registry", "registry-user", "registry-password-stdin"] as const;

/** The only word, which must be an Env. */
export function oneEnv(action: string, words: readonly string[], args: Arguments): EnvName {
  const [name, ...more] = words;
  if (name === undefined) throw new UsageError(`envs ${action} needs the name of an Env; agentbox envs ls lists them`);
  if (more.length > 0) throw new UsageError(`envs ${action} takes one Env: unexpected ${more.join(" ")}`);
  return named(name, args);
}

export function named(name: string, args: Arguments): EnvName {
  return { name, namespace: args.text("namespace") };
}

/** Parses ENV or ENV/MEMBER. */
export function envAndMember(word: string, args: Arguments): { readonly env: EnvName; readonly member: string | undefined } {
  const [name = "", member, ...more] = word.split("/");
  if (name === "" || member === "" || more.length > 0) throw new UsageError(`expected ENV or ENV/MEMBER, not ${JSON.stringify(word)}`);
  return { env: named(name, args), member };
}

/** The config of a member from the flags. */
export function memberWish(args: Arguments, name: string | undefined): EnvMemberWish {
  const [cpu, memory, instanceType] = [args.text("cpu"), args.text("memory"), args.text("instance-type")];
  const multiplier = args.number("multiplier");
  if (instanceType !== undefined && (cpu !== undefined || memory !== undefined)) {
    throw new UsageError("--instance-type sets cpu and memory: remove --cpu and --memory");
  }
  if (multiplier !== undefined && instanceType === undefined) throw new UsageError("--multiplier needs --instance-type");
  const limits = withoutUndefined({ cpu, memory });
  const config = {
    ...(Object.keys(limits).length > 0 && { inlineResources: { limits } }),
    ...(instanceType !== undefined && { instanceType, multiplier: multiplier ?? 1 }),
    ...withoutUndefined({ scalingGroup: args.text("group"), priority: args.number("priority") }),
  };
  return { config, ...withoutUndefined({ name, replicas: args.number("replicas") }) };
}

/** The policy of a group, changed by the flags; undefined if no flag concerns it. */
export function policyWith(args: Arguments, name: string, present: EnvAutoscalingGroup | undefined): EnvAutoscalingGroup | undefined {
  const [minReplicas, maxReplicas, mode] = [args.number("min"), args.number("max"), args.text("mode")];
  if (minReplicas === undefined && maxReplicas === undefined && mode === undefined) return undefined;
  const enabled = mode === undefined ? (present?.enabled ?? true) : mode !== "off";
  const chosen = mode === undefined || mode === "off" ? (present === undefined ? "Demand" : undefined) : (mode as Mode);
  return {
    ...present,
    name,
    enabled,
    ...withoutUndefined({ minReplicas, maxReplicas }),
    ...(chosen !== undefined && { scaleUpPolicy: { ...present?.scaleUpPolicy, mode: chosen } }),
  };
}

type Mode = NonNullable<NonNullable<EnvAutoscalingGroup["scaleUpPolicy"]>["mode"]>;

/** The password comes from standard input, so that process lists and the shell's history do not have it. */
export async function registryOf(context: CliContext, args: Arguments): Promise<RegistryCredentials | undefined> {
  const [registry, username] = [args.text("registry"), args.text("registry-user")];
  const isOn = args.isOn("registry-password-stdin");
  if (registry === undefined && username === undefined && !isOn) return undefined;
  if (registry === undefined || username === undefined || !isOn) {
    throw new UsageError("credentials need --registry HOST, --registry-user USER and --registry-password-stdin");
  }
  const password = (await context.readStdin()).replace(/\r?\n$/, "");
  if (password === "") throw new UsageError("standard input has no password");
  return { registry, username, password };
}
