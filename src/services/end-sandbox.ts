/** Ends a sandbox. One that has ended already is a success without a write (W1); another tenant's is as if there were none (I8). */
import { releaseSandbox } from "#lifecycle/release-sandbox.ts";
import { labelKeys } from "#model/keys.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { liveStatusOf } from "#sandbox/sandbox-base.ts";
import { type Caller, owns } from "./caller.ts";
import type { ClaimContext } from "./claim-context.ts";
import { findPod, findRecord, noSuchSandbox } from "./find-sandbox.ts";
import { translated } from "./service-failure.ts";

type EndDeps = Pick<
  ClaimContext,
  "client" | "cache" | "history" | "digests" | "clock" | "log" | "publicKey" | "delivery" | "maxUses" | "resting"
>;

/** What can stand in a label, and so be asked for. */
const labelForm = /^[0-9A-Za-z](?:[-_.0-9A-Za-z]{0,61}[0-9A-Za-z])?$/;

/** Who has asked for an end wants it also when he has gone. */
const unending = new AbortController().signal;

/** Throws ServiceError. */
export async function endSandbox(deps: EndDeps, caller: Caller, sandboxId: string): Promise<void> {
  const known = findPod(deps, caller, sandboxId);
  if (known !== undefined) return release(deps, caller, known, sandboxId);
  if ((await findRecord(deps, caller, sandboxId)) !== undefined) return;
  const pod = await onServer(deps, caller, sandboxId);
  if (pod !== undefined) return release(deps, caller, pod, sandboxId);
  // Its pod may have been wiped between the two looks; the record was there before.
  if ((await findRecord(deps, caller, sandboxId)) === undefined) throw noSuchSandbox(sandboxId);
}

/** Whatever comes out, the sandbox has ended: a pod that is gone or carries somebody else took it with it. */
async function release(deps: EndDeps, caller: Caller, pod: Pod, sandboxId: string): Promise<void> {
  const outcome = await translated(releaseSandbox(deps, pod, { sandboxId }, unending));
  deps.log.info({ sandboxId, pod: pod.metadata.name, keyId: caller.keyId, outcome: outcome.kind }, "sandbox ended by its owner");
}

/** Another process may have claimed it a moment ago, before our cache heard of it. */
async function onServer({ client, cache }: EndDeps, caller: Caller, sandboxId: string): Promise<Pod | undefined> {
  if (!labelForm.test(sandboxId)) return undefined;
  const { items } = await translated(client.list(Pods, { labelSelector: `${labelKeys.sandboxId}=${sandboxId}` }));
  for (const pod of items) cache.pods.remember(pod);
  return items.find((pod) => owns(caller, pod) && liveStatusOf(pod) !== undefined);
}
