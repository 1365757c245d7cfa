/** A sandbox as the create that would make it again, but for its files: what it was asked for, and what is left of its time. */
import { withoutUndefined } from "#lib/without-undefined.ts";
import { labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { volumeMountsOf } from "#model/volume-mounts.ts";
import type { Caller } from "#services/caller.ts";
import { viewOf } from "#services/reading/sandbox-view.ts";
import type { CreateSandbox } from "#services/sandbox-service.ts";

/** Without an end: the caller says how long it lives. */
export function sameAgain(pod: Pod): Omit<CreateSandbox, "from" | "lifetimeMs" | "envVars"> {
  const view = viewOf(pod);
  const { startupTimeoutMs, idleTimeoutMs = 0, onTimeout, autoResume, privateTraffic, maskHost, egress, metadata = {} } = view ?? {};
  const mounts = volumeMountsOf(pod);
  return {
    metadata,
    // None, and not what the pool says.
    idleTimeoutMs,
    ...withoutUndefined({ startupTimeoutMs, onTimeout, autoResume, privateTraffic, maskHost, egress }),
    ...(view?.openDaemon === true ? { secure: false } : {}),
    // Not copied: they are what several sandboxes share.
    ...(mounts.length === 0 ? {} : { volumeMounts: mounts.map(({ uid, path, readOnly }) => ({ name: uid, path, readOnly })) }),
  };
}

/** An admin acts for the owner of the sandbox: the files are the owner's, and so is what they are used for. */
export function ownerOf(caller: Caller, { metadata: { labels = {} } }: Pod): Caller {
  const { [labelKeys.team]: team = "", [labelKeys.user]: user } = labels;
  const { role, keyId } = caller;
  return { role, keyId, team, ...withoutUndefined({ user }) };
}
