import type { PlannedEvent } from "../plan/action.ts";
import type { StoredContainer } from "#engines/embedded/stored-pod.ts";

/** Records an event about a pod, or about one of its containers. Never waits and never fails. */
export type Tell = (event: Omit<PlannedEvent, "container">, container?: StoredContainer) => void;
