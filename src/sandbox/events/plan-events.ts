/**
 * Derives the events of a sandbox from its pod, beyond the events that are stored. Pure. An event's id is computed from what happened, so a process that
 * takes over, or looks again, finds the same event and does not store a second one.
 */
import { createHash } from "node:crypto";
import { annotationKeys } from "#model/keys.ts";
import { isFrozen, pauseWish } from "#model/pause.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxEvent, SandboxEventType } from "#model/sandbox-event.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { formatTime, parseTime } from "#sandbox/annotation-values.ts";
import { liveRecordFromPod } from "#sandbox/sandbox-base.ts";

/** What the stored events of a sandbox say. */
export interface Told {
  readonly isCreated: boolean;
  readonly isKilled: boolean;
  /** Since when it is paused; undefined: it runs. */
  readonly pausedSince?: string | undefined;
  /** The end time in the last event that has one. */
  readonly endTime?: string | undefined;
}

export const nothingTold: Told = { isCreated: false, isKilled: false };

/** `events`: newest first. */
export function toldBy(events: readonly SandboxEvent[]): Told {
  return events.toReversed().reduce((told, event) => after(told, event), nothingTold);
}

export function after(told: Told, { type, data }: SandboxEvent): Told {
  const endTime = textIn(data, "set_timeout") ?? told.endTime;
  switch (type) {
    case "created":
      return { ...told, isCreated: true, endTime };
    case "killed":
      return { ...told, isKilled: true };
    case "paused":
      return { ...told, pausedSince: textIn(data, "paused_since") };
    case "resumed":
      return { ...told, pausedSince: undefined, endTime };
    case "updated":
      return { ...told, endTime };
  }
}

export function eventsOf(told: Told, pod: Pod, now: number): readonly SandboxEvent[] {
  const record = liveRecordFromPod(pod);
  // A sandbox that never ran did not exist for its user.
  if (record === undefined || told.isKilled || (!told.isCreated && record.startedAt === undefined)) return [];
  const { annotations = {} } = pod.metadata;
  const state: State = { record, annotations, now, wish: pauseWish(pod), isFrozen: isFrozen(pod) };
  const beginning = told.isCreated ? [] : [created(state)];
  if (record.status === "Stopping") return [...beginning, ...killed(record, state)];
  return [...beginning, ...timeChanges(told, state), ...pauses(told, state)];
}

interface State extends End {
  readonly record: SandboxRecord;
  readonly wish: string | undefined;
  readonly isFrozen: boolean;
}

function created({ record, annotations, now }: State): SandboxEvent {
  const data = { sandbox_metadata: record.metadata, ...timeoutIn(annotations) };
  return eventOf(record, { type: "created", key: "", at: parseTime(record.startedAt) ?? now, data });
}

/** A resume, which also sets an end time, or a new end time alone. */
function timeChanges(
  { isCreated, pausedSince, endTime: toldTime }: Told,
  { record, annotations, wish, now }: State,
): readonly SandboxEvent[] {
  const endTime = annotations[annotationKeys.endTime];
  if (pausedSince !== undefined && pausedSince !== wish) {
    const at = parseTime(annotations[annotationKeys.lastActive]) ?? now;
    return [eventOf(record, { type: "resumed", key: pausedSince, at, data: endTime === undefined ? null : timeoutIn(annotations) })];
  }
  if (!isCreated || endTime === undefined || endTime === toldTime || wish !== undefined) return [];
  return [eventOf(record, { type: "updated", key: endTime, at: now, data: timeoutIn(annotations) })];
}

function pauses({ pausedSince }: Told, { record, wish, isFrozen: isStopped, now }: State): readonly SandboxEvent[] {
  if (!isStopped || wish === undefined || wish === pausedSince) return [];
  return [eventOf(record, { type: "paused", key: wish, at: parseTime(wish) ?? now, data: { paused_since: wish } })];
}

function timeoutIn({ [annotationKeys.endTime]: endTime }: State["annotations"]): Readonly<Record<string, string>> {
  return endTime === undefined ? {} : { set_timeout: endTime };
}

/** For a sandbox that ended while no process was running. */
export function endOf(told: Told, record: SandboxRecord, now: number): readonly SandboxEvent[] {
  if (!told.isCreated || told.isKilled || record.terminatedAt === undefined) return [];
  return killed(record, { annotations: {}, now });
}

interface End {
  readonly annotations: Readonly<Record<string, string>>;
  readonly now: number;
}

function killed(record: SandboxRecord, { annotations, now }: End): readonly SandboxEvent[] {
  const failure = annotations[annotationKeys.failureReason] ?? record.failureReason;
  const stop = annotations[annotationKeys.stopReason] ?? record.stopReason;
  const at = parseTime(annotations[annotationKeys.terminatedAt] ?? record.terminatedAt) ?? now;
  return [
    eventOf(record, { type: "killed", key: "", at, data: { kill_reason: failure ?? "request", ...(stop && { stop_reason: stop }) } }),
  ];
}

interface Happened {
  readonly type: SandboxEventType;
  /** Distinguishes the event from others of its type. */
  readonly key: string;
  readonly at: number;
  readonly data: SandboxEvent["data"];
}

function eventOf(record: SandboxRecord, { type, key, at, data }: Happened): SandboxEvent {
  const { sandboxId, team, user, envName, templateName, poolName } = record;
  const template = envName ?? templateName ?? poolName;
  return { id: idOf(sandboxId, type, key), sandboxId, type, at: formatTime(at), team, user, template, data };
}

/** In the form of a UUID, computed from what happened. */
function idOf(...parts: readonly string[]): string {
  const hex = createHash("sha256").update(JSON.stringify(parts)).digest("hex");
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`;
}

function textIn(data: SandboxEvent["data"], name: string): string | undefined {
  const value = data?.[name];
  return typeof value === "string" ? value : undefined;
}
