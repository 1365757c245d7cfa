/** Sandboxes as the native API shows them: like the services' view, with readable time spans. Pure. */
import { withoutUndefined } from "#lib/without-undefined.ts";
import { formatDuration } from "#model/duration.ts";
import type { CreatedSandbox, SandboxDetail } from "#services/sandbox-service.ts";
import type { SandboxBody } from "#api/native/schemas/sandbox.ts";

export function sandboxBody({ startupTimeoutMs, idleTimeoutMs, ...detail }: SandboxDetail): SandboxBody {
  return {
    ...detail,
    ...withoutUndefined({ startupTimeout: spanOf(startupTimeoutMs), idleTimeout: spanOf(idleTimeoutMs) }),
  } as SandboxBody;
}

export function createdBody({ sandbox, accessToken, trafficToken }: CreatedSandbox): object {
  return { sandbox: sandboxBody(sandbox), ...withoutUndefined({ accessToken, trafficToken }) };
}

function spanOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : formatDuration(ms);
}
