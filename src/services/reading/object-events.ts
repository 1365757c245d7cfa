/** Events of an object, for people. Read from the server, because no cache has events. */
import type { ObjectClient } from "#kube/object-client.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { Events, type ObjectEvent } from "#model/core-kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import { parseTime } from "#sandbox/annotation-values.ts";
import { translated } from "#services/service-failure.ts";

export interface HappenedEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly firstTime?: string;
  readonly lastTime: string;
}

/** More than an object makes before its older events are forgotten. */
const maxEvents = 500;

/** Newest first. */
export async function eventsAbout(
  { client }: { readonly client: Pick<ObjectClient, "list"> },
  { metadata: { namespace, uid } }: ApiObject,
): Promise<readonly HappenedEvent[]> {
  const fieldSelector = `involvedObject.uid=${uid ?? ""}`;
  const { items } = await translated(client.list(Events, { namespace, fieldSelector, limit: maxEvents }));
  return items.map(happened).sort((left, right) => (left.lastTime < right.lastTime ? 1 : -1));
}

function happened({ type, reason, message, count, firstTimestamp, lastTimestamp, eventTime, metadata }: ObjectEvent): HappenedEvent {
  const last = [lastTimestamp, eventTime, firstTimestamp, metadata.creationTimestamp].map(timeOf).find((time) => time !== undefined);
  return {
    type: type ?? "Normal",
    reason: reason ?? "",
    message: message ?? "",
    count: count ?? 1,
    lastTime: last ?? new Date(0).toISOString(),
    ...withoutUndefined({ firstTime: timeOf(firstTimestamp) }),
  };
}

function timeOf(text: string | null | undefined): string | undefined {
  const ms = parseTime(text ?? undefined);
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
