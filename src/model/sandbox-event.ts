/** What happens to sandboxes, as programs are told of it. */

export const sandboxEventTypes = ["created", "updated", "paused", "resumed", "killed"] as const;
export type SandboxEventType = (typeof sandboxEventTypes)[number];

export interface SandboxEvent {
  /** The same for the same event, whichever process tells it. */
  readonly id: string;
  readonly sandboxId: string;
  readonly type: SandboxEventType;
  /** ISO 8601. */
  readonly at: string;
  readonly team: string;
  /** Empty: of the whole team. */
  readonly user: string;
  readonly template: string;
  readonly data: Readonly<Record<string, unknown>> | null;
}

const prefix = "sandbox.lifecycle.";

export function eventName(type: SandboxEventType): string {
  return `${prefix}${type}`;
}

export function eventTypeOf(name: string): SandboxEventType | undefined {
  return sandboxEventTypes.find((type) => eventName(type) === name);
}

/** As E2B has it, for lists and for deliveries. */
export function eventBody({ id, sandboxId, type, at, team, template, data }: SandboxEvent) {
  return {
    version: "v1",
    id,
    type: eventName(type),
    eventData: data,
    sandboxId,
    sandboxBuildId: template,
    sandboxExecutionId: sandboxId,
    sandboxTeamId: team === "" ? "admin" : team,
    sandboxTemplateId: template,
    timestamp: at,
  };
}
