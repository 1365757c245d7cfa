import { readFileSync } from "node:fs";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import type { Place } from "#lib/lanes.ts";
import { CommandNotStarted, type ExecCommand } from "#kube/pod-access.ts";
import type { ExecDeps } from "#engines/embedded/node/runtime/exec-session.ts";
import type { ContainerSpec, SpecProcess } from "#engines/embedded/node/runtime/spec/container-spec.ts";
import { refuseSpecialAccounts } from "#engines/embedded/node/rootfs/special-files.ts";
import { type AccountFiles, resolveUser, type ResolvedUser } from "#engines/embedded/node/runtime/spec/user.ts";
import { accountFiles } from "./assemble-container.ts";
import type { NodeContainer } from "./node-container.ts";
import type { NodeContext } from "./node-context.ts";

type OwnedCommand = ExecCommand & { readonly owner?: string | undefined };

/** What a command in a container needs: like the container's own process, but for what the command says. */
export function prepareExec(context: NodeContext, container: NodeContainer, command: OwnedCommand): ExecDeps {
  const { pid, id, pod, runtime } = container;
  if (pid === undefined) throw new Error(`container ${id} has ended, nothing can be run in it`);
  if (context.cgroups.isFrozen(pod.uid)) throw new Error(`pod ${pod.plan.name} is frozen; thaw it before running something in it`);
  const spec = JSON.parse(readFileSync(join(pod.folder.container(id), "config.json"), "utf8")) as ContainerSpec;
  if (!runtime.traits.opaque) refuseSpecialAccounts(`/proc/${pid}/root`);
  const accounts = (): AccountFiles => pod.folder.readAccounts(id) ?? accountFiles(`/proc/${pid}/root`);
  const process = commandProcess(spec.process, command, accounts);
  return {
    runtime,
    containerId: id,
    folder: join(context.paths.scratch, randomUUID()),
    process,
    owner: pod.slot.firstUid + process.user.uid,
    places: startPlaces(pod.uid, command.owner ?? pod.uid),
    clock: context.clock,
  };
}

/**
 * A sandbox can hold up each start until its deadline: it takes the places of its own pod and owner, and not those of others. The last places
 * of all are for owners that have none, so that owners that work together do not have all of them.
 */
export function startPlaces(pod: string, owner: string): readonly Place[] {
  return [
    { name: "all", most: 64, kept: { count: 16, unless: `owner ${owner}` } },
    { name: `owner ${owner}`, most: 16 },
    { name: `pod ${pod}`, most: 8 },
  ];
}

function commandProcess(own: SpecProcess, { argv, env = {}, user, workingDir }: ExecCommand, accounts: () => AccountFiles): SpecProcess {
  const account = user === undefined ? undefined : userOf(user, accounts());
  const { HOME: home = "", ...others } = env;
  // Never empty: the runtime would look it up in the container's own files.
  const homes = home === "" ? account?.home : home;
  const added = { ...(homes === undefined ? {} : { HOME: homes }), ...others };
  const kept = own.env.filter((entry) => !(entry.slice(0, entry.indexOf("=")) in added));
  return {
    ...own,
    args: argv,
    env: [...kept, ...Object.entries(added).map(([name, value]) => `${name}=${value}`)],
    ...(account === undefined ? {} : { user: { uid: account.uid, gid: account.gid, additionalGids: account.groups } }),
    ...(workingDir === undefined ? {} : { cwd: workingDir }),
  };
}

function userOf(text: string, accounts: AccountFiles): ResolvedUser {
  try {
    return resolveUser(text, accounts);
  } catch (error) {
    throw new CommandNotStarted("user", error instanceof Error ? error.message : String(error), error);
  }
}
