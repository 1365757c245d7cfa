import { ifFound, isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { templateConditionReasons } from "#model/keys.ts";
import type { ApiObject, Condition } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";
import type { CliContext } from "./context.ts";
import { CliError } from "./failure.ts";
import { kindName } from "./kind-name.ts";

/** An object whose deletion was requested. */
export interface Doomed {
  readonly type: ResourceType;
  readonly namespace: string | undefined;
  readonly name: string;
}

/** After this time the user wants to know what the command waits for. */
const progressAfterMs = 2000;

/** Waits for one object after the other; objects deleted in the meantime take no time. */
export async function waitUntilGone(
  context: CliContext,
  client: ObjectClient,
  doomed: readonly Doomed[],
  timeoutMs: number | undefined,
): Promise<void> {
  const timedOut = new AbortController();
  const timer = timeoutMs === undefined ? undefined : context.clock.after(timeoutMs, () => timedOut.abort());
  const signal = AbortSignal.any([context.signal, timedOut.signal]);
  try {
    for (const one of doomed) {
      try {
        await waitForOne({ context, client, signal }, one);
      } catch (error) {
        if (timedOut.signal.aborted) throw new CliError(`timed out waiting for the condition on ${one.type.plural}/${one.name}`);
        throw error;
      }
    }
  } finally {
    timer?.cancel();
  }
}

interface Waiting {
  readonly context: CliContext;
  readonly client: ObjectClient;
  readonly signal: AbortSignal;
}

async function waitForOne(waiting: Waiting, doomed: Doomed): Promise<void> {
  const first = await find(waiting, doomed);
  // An object without a deletion timestamp was created anew under the old name.
  if (first?.metadata.deletionTimestamp === undefined) return;
  let last = first;
  const seen = (object: ApiObject): void => {
    last = object;
  };
  const progress = waiting.context.clock.after(progressAfterMs, () => waiting.context.stderr.write(progressText(doomed, last)));
  try {
    while (!(await watchUntilGone(waiting, doomed, last, seen))) {
      const now = await find(waiting, doomed);
      if (now?.metadata.uid !== first.metadata.uid || now === undefined) return;
      last = now;
    }
  } finally {
    progress.cancel();
  }
}

/** False if the server ended the watch before the object was gone. */
async function watchUntilGone(
  { client, signal }: Waiting,
  doomed: Doomed,
  from: ApiObject,
  seen: (object: ApiObject) => void,
): Promise<boolean> {
  const { type, namespace, name } = doomed;
  const { resourceVersion } = from.metadata;
  try {
    for await (const event of client.watch(type, { namespace, fieldSelector: `metadata.name=${name}`, resourceVersion, signal })) {
      if (event.type === "BOOKMARK") continue;
      if (event.type === "DELETED") return true;
      seen(event.object);
    }
    return false;
  } catch (error) {
    if (isApiError(error, "Expired", "Gone")) return false;
    throw error;
  }
}

async function find({ client, signal }: Waiting, { type, namespace, name }: Doomed): Promise<ApiObject | undefined> {
  return ifFound(client.get(type, { namespace, name }, { signal }));
}

function progressText({ type, name }: Doomed, object: ApiObject): string {
  const { finalizers = [] } = object.metadata;
  const { conditions } = (object as { status?: { conditions?: readonly Condition[] } }).status ?? {};
  const told = conditions?.find(({ reason }) => reason === templateConditionReasons.deletedInUse)?.message;
  const reason = told ?? (finalizers.length === 0 ? "it has time to end" : `finalizers: ${finalizers.join(", ")}`);
  return `waiting for ${kindName(type)} ${JSON.stringify(name)} to be gone (${reason}); Ctrl-C stops waiting, not the deletion\n`;
}
