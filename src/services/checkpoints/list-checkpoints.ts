import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { type Caller, owns } from "#services/caller.ts";
import { pageOf } from "#services/reading/named-page.ts";
import type { CheckpointPage, ListCheckpoints } from "./checkpoint-service.ts";
import { purposeOf, viewOfCheckpoint } from "./checkpoint-view.ts";
import { hasAlias } from "./find-checkpoint.ts";

/** In the order of their names; those that are being deleted are gone already. */
export function listCheckpoints(
  { cache }: { readonly cache: Pick<SandboxCache, "checkpoints"> },
  caller: Caller,
  { sandboxId, alias, purpose = "snapshot", ...page }: ListCheckpoints,
): CheckpointPage {
  const wanted = cache.checkpoints.objects
    .list()
    .filter(
      (checkpoint) =>
        owns(caller, checkpoint) &&
        checkpoint.metadata.deletionTimestamp === undefined &&
        purposeOf(checkpoint) === purpose &&
        (sandboxId === undefined || checkpoint.spec.sandboxID === sandboxId) &&
        (alias === undefined || hasAlias(checkpoint, alias)),
    );
  const { items, next } = pageOf(wanted, page);
  return { checkpoints: items.map(viewOfCheckpoint), ...(next === undefined ? {} : { next }) };
}
