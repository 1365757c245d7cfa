/** What the volume mounts of a create are, with all that is wrong with them in one answer. */
import type { EngineAbilities } from "#engine-port/abilities.ts";
import { overlap, whyNotMountPath } from "#model/mount-path.ts";
import { maxVolumeMounts, type VolumeMount } from "#model/volume-mounts.ts";
import type { VolumeCache } from "#volumes/volume-cache.ts";
import type { Caller } from "#services/caller.ts";
import type { MountWish } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { lookUpVolume } from "./volume-book.ts";

export interface MountDeps {
  readonly abilities: Pick<EngineAbilities, "volumes">;
  /** Where the engine has volumes. */
  readonly volumes?: Pick<VolumeCache, "list"> | undefined;
}

type Judged = { readonly mount: VolumeMount } | { readonly problem: string };

/** Throws not_implemented, or invalid_request that names every mount that is wrong. */
export function resolveMounts({ abilities, volumes }: MountDeps, caller: Caller, wishes: readonly MountWish[]): readonly VolumeMount[] {
  if (wishes.length === 0) return [];
  const field = "volumeMounts";
  const able = abilities.volumes();
  if (!able.able) throw new ServiceError("not_implemented", able.why, { field });
  if (volumes === undefined) throw new Error("the engine has volumes, and nothing follows them");
  if (wishes.length > maxVolumeMounts)
    throw new ServiceError("invalid_request", `volumeMounts are ${wishes.length}; there may be ${maxVolumeMounts}`, { field });
  const judged = wishes.map((wish, index) => judge(volumes, caller, wishes, index));
  const problems = judged.flatMap((one) => ("problem" in one ? [one.problem] : []));
  if (problems.length > 0) throw new ServiceError("invalid_request", problems.join("; "), { field });
  return judged.flatMap((one) => ("mount" in one ? [one.mount] : []));
}

/** A slash at the end says the same. */
function pathOf({ path }: MountWish): string {
  return path.length > 1 ? path.replace(/\/+$/, "") || "/" : path;
}

function judge(volumes: Pick<VolumeCache, "list">, caller: Caller, wishes: readonly MountWish[], index: number): Judged {
  const wish = wishes[index] as MountWish;
  const [path, field] = [pathOf(wish), `volumeMounts[${index}]`];
  const wrong = whyNotMountPath(path);
  if (wrong !== undefined) return { problem: `${field}.path ${JSON.stringify(wish.path)} ${wrong}` };
  const other = wishes.findIndex((one, at) => at < index && overlap(pathOf(one), path));
  if (other !== -1)
    return { problem: `${field}.path ${path} and volumeMounts[${other}].path ${pathOf(wishes[other] as MountWish)} hide each other` };
  const found = lookUpVolume(volumes, caller, wish.name);
  if (found.kind === "none") return { problem: `${field}.name: there is no volume ${JSON.stringify(wish.name)}` };
  if (found.kind === "several")
    return {
      problem: `${field}.name: several volumes are called ${JSON.stringify(wish.name)}, name one by its id: ${found.ids.join(", ")}`,
    };
  const { metadata, spec, status } = found.volume;
  if (metadata.deletionTimestamp !== undefined)
    return { problem: `${field}.name: the volume ${JSON.stringify(wish.name)} is being deleted` };
  if (status?.phase !== "Ready")
    return { problem: `${field}.name: the volume ${JSON.stringify(wish.name)} is not ready: ${status?.message ?? "it is being made"}` };
  return { mount: { uid: metadata.uid ?? "", name: spec.name, path, readOnly: wish.readOnly === true } };
}
