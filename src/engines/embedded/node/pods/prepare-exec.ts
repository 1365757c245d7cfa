import { readFileSync } from "node:fs";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import type { ExecCommand } from "#kube/pod-access.ts";
import type { ExecDeps } from "#engines/embedded/node/runtime/exec-session.ts";
import type { ContainerSpec, SpecProcess } from "#engines/embedded/node/runtime/spec/container-spec.ts";
import { type AccountFiles, resolveUser } from "#engines/embedded/node/runtime/spec/user.ts";
import { accountFiles } from "./assemble-container.ts";
import type { NodeContainer } from "./node-container.ts";
import type { NodeContext } from "./node-context.ts";

/** What a command in a container needs: like the container's own process, but for what the command says. */
export function prepareExec(context: NodeContext, container: NodeContainer, command: ExecCommand): ExecDeps {
  const { pid, id, pod, runtime } = container;
  if (pid === undefined) throw new Error(`container ${id} has ended, nothing can be run in it`);
  if (context.cgroups.isFrozen(pod.uid)) throw new Error(`pod ${pod.plan.name} is frozen; thaw it before running something in it`);
  const spec = JSON.parse(readFileSync(join(pod.folder.container(id), "config.json"), "utf8")) as ContainerSpec;
  const accounts = (): AccountFiles => pod.folder.readAccounts(id) ?? accountFiles(`/proc/${pid}/root`);
  const process = commandProcess(spec.process, command, accounts);
  return {
    runtime,
    containerId: id,
    folder: join(context.paths.scratch, randomUUID()),
    process,
    owner: pod.slot.firstUid + process.user.uid,
    clock: context.clock,
  };
}

function commandProcess(own: SpecProcess, { argv, env = {}, user, workingDir }: ExecCommand, accounts: () => AccountFiles): SpecProcess {
  const who = user === undefined ? undefined : resolveUser(user, accounts());
  const added = { ...(who === undefined ? {} : { HOME: who.home }), ...env };
  const kept = own.env.filter((entry) => !(entry.slice(0, entry.indexOf("=")) in added));
  return {
    ...own,
    args: argv,
    env: [...kept, ...Object.entries(added).map(([name, value]) => `${name}=${value}`)],
    ...(who === undefined ? {} : { user: { uid: who.uid, gid: who.gid, additionalGids: who.groups } }),
    ...(workingDir === undefined ? {} : { cwd: workingDir }),
  };
}
