import type { PlannedEvent } from "../plan/action.ts";
import type { ContainerFields } from "../pod-fields.ts";

/** Records an event about a pod, or about one of its containers. Never waits and never fails. */
export type Tell = (event: Omit<PlannedEvent, "container">, container?: ContainerFields) => void;
