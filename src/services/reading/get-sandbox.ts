/** One sandbox: from its pod while it has one, with what is wrong with it, and from the history afterwards. */
import type { ObjectClient } from "#kube/object-client.ts";
import type { Logger } from "#lib/log.ts";
import { Events, type ObjectEvent } from "#model/core-kinds.ts";
import type { Pod } from "#model/pod.ts";
import { statusDetailWithEvents } from "#sandbox/health/diagnosis-events.ts";
import type { Caller } from "#services/caller.ts";
import { type FindDeps, findSandbox, noSuchSandbox } from "./find-sandbox.ts";
import type { SandboxDetail, SandboxView } from "#services/sandbox-service.ts";
import { viewOf } from "./sandbox-view.ts";

export interface GetDeps extends FindDeps {
  readonly client: Pick<ObjectClient, "list">;
  readonly log: Logger;
}

/** More than a pod makes: those that repeat themselves are counted in one. */
const maxEvents = 500;

/** Without diagnosis, which would search all events of the namespace. */
export async function viewSandbox(deps: FindDeps, caller: Caller, sandboxId: string): Promise<SandboxView> {
  return (await shownSandbox(deps, caller, sandboxId)).view;
}

export async function getSandbox(deps: GetDeps, caller: Caller, sandboxId: string): Promise<SandboxDetail> {
  const { view, pod } = await shownSandbox(deps, caller, sandboxId);
  if (pod === undefined) return view;
  const diagnosis = statusDetailWithEvents(pod, await warningsAbout(deps, pod));
  return diagnosis === undefined ? view : { ...view, diagnosis };
}

interface Shown {
  readonly view: SandboxView;
  /** That shows it; undefined when it is history. */
  readonly pod?: Pod;
}

async function shownSandbox(deps: FindDeps, caller: Caller, sandboxId: string): Promise<Shown> {
  const { pod, record } = await findSandbox(deps, caller, sandboxId);
  const view = pod === undefined ? undefined : viewOf(pod);
  if (pod !== undefined && view !== undefined) return { view, pod };
  if (record === undefined) throw noSuchSandbox(sandboxId);
  return { view: record };
}

/** What cannot be read is left out: a sandbox can be shown without it. */
async function warningsAbout({ client, log }: GetDeps, { metadata: { namespace, uid } }: Pod): Promise<readonly ObjectEvent[]> {
  const fieldSelector = `involvedObject.uid=${uid ?? ""},type=Warning`;
  try {
    return (await client.list(Events, { namespace, fieldSelector, limit: maxEvents })).items;
  } catch (error) {
    log.warn({ podUid: uid, error }, "events of a sandbox could not be read");
    return [];
  }
}
