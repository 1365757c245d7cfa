/** The pages in the navigation. */
import { known } from "./live/live-state.ts";
import type { IconName } from "./parts/icon.tsx";
import { hrefOf } from "./route.ts";

interface Entry {
  readonly name: string;
  readonly part: string;
  readonly icon: IconName;
  readonly count?: () => number;
}

export const entries: readonly Entry[] = [
  { name: "Overview", part: "", icon: "overview" },
  { name: "Sandboxes", part: "sandboxes", icon: "sandboxes", count: () => known.value.sandboxes.size },
  { name: "Playground", part: "playground", icon: "playground" },
  { name: "Envs and pools", part: "pools", icon: "pools", count: () => known.value.pools.size },
  { name: "Templates", part: "templates", icon: "templates" },
  { name: "Builds", part: "builds", icon: "builds" },
  { name: "Checkpoints", part: "checkpoints", icon: "checkpoints" },
  { name: "Volumes", part: "volumes", icon: "volumes" },
  { name: "History", part: "history", icon: "history" },
  { name: "API keys", part: "keys", icon: "keys" },
  { name: "Webhooks", part: "webhooks", icon: "webhooks" },
  { name: "Usage", part: "usage", icon: "usage" },
  { name: "Audit log", part: "audit", icon: "audit" },
  { name: "Limits", part: "limits", icon: "limits" },
  { name: "Health", part: "health", icon: "health" },
];

export function hrefOfEntry({ part }: Pick<Entry, "part">): string {
  return hrefOf(part === "" ? [] : [part]);
}
