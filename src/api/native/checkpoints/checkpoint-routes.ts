/** Checkpoints of sandboxes: take, see and delete them; and sandboxes forked from sandboxes. */
import type { ErrorCode } from "#model/error-codes.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { requestSignal } from "#api/http/request-signal.ts";
import { type Route, route } from "#api/native/route.ts";
import { spanMs } from "#api/native/sandboxes/create-command.ts";
import { createdBody } from "#api/native/sandboxes/sandbox-body.ts";
import {
  checkpointPageSchema,
  checkpointParams,
  checkpointQuery,
  forkedSchema,
  forkSchema,
  oneCheckpointSchema,
  takeSchema,
} from "#api/native/schemas/checkpoints.ts";
import { sandboxParams } from "#api/native/schemas/sandbox.ts";
import type { CheckpointService } from "#services/checkpoints/checkpoint-service.ts";

export interface CheckpointRoutesDeps {
  readonly checkpoints: CheckpointService;
}

const takeErrors: readonly ErrorCode[] = ["not_found", "conflict", "too_large", "limit_reached", "timeout", "not_implemented"];

export function checkpointRoutes({ checkpoints }: CheckpointRoutesDeps): readonly Route[] {
  return [take(checkpoints), fork(checkpoints), list(checkpoints), get(checkpoints), remove(checkpoints)];
}

function take(checkpoints: CheckpointService): Route {
  return route({
    method: "POST",
    path: "/sandboxes/{sandboxId}/checkpoints",
    name: "takeCheckpoint",
    summary: "Keep the files of a sandbox as an image",
    description:
      "The sandbox stands still while its changed files are copied, and goes on. Answers when the checkpoint can be used; one that fails leaves nothing.",
    params: sandboxParams,
    body: takeSchema,
    answers: [{ status: 201, description: "It is there.", schema: oneCheckpointSchema }],
    errors: takeErrors,
    fieldOf: (field) => (field === "ttlMs" ? "ttl" : field),
    handle: async ({ caller, params, body, reply }) => {
      const { ttl, ...rest } = body ?? {};
      const command = { sandboxId: params.sandboxId, ...rest, ...withoutUndefined({ ttlMs: spanMs(ttl) }) };
      return { checkpoint: await checkpoints.take(caller(), command, requestSignal(reply)) };
    },
  });
}

function fork(checkpoints: CheckpointService): Route {
  return route({
    method: "POST",
    path: "/sandboxes/{sandboxId}/fork",
    name: "forkSandbox",
    summary: "Make sandboxes that begin with the files of another one",
    description: "The original goes on. Each new sandbox comes, or fails, by itself.",
    params: sandboxParams,
    body: forkSchema,
    answers: [{ status: 201, description: "What came of it.", schema: forkedSchema }],
    errors: takeErrors,
    fieldOf: (field) => (field === "lifetimeMs" ? "lifetime" : field),
    handle: async ({ caller, params, body, reply }) => {
      const { lifetime, ...rest } = body ?? {};
      const command = { sandboxId: params.sandboxId, ...rest, ...withoutUndefined({ lifetimeMs: spanMs(lifetime) }) };
      const children = await checkpoints.fork(caller(), command, requestSignal(reply));
      return {
        sandboxes: children.flatMap((child) => ("failure" in child ? [] : [createdBody(child)])),
        failures: children.flatMap((child) => ("failure" in child ? [child.failure] : [])),
      };
    },
  });
}

function list(checkpoints: CheckpointService): Route {
  return route({
    method: "GET",
    path: "/checkpoints",
    name: "listCheckpoints",
    summary: "List checkpoints",
    query: checkpointQuery,
    answers: [{ status: 200, description: "One page of the list.", schema: checkpointPageSchema }],
    errors: [],
    handle: async ({ caller, query }) => checkpoints.list(caller(), query),
  });
}

function get(checkpoints: CheckpointService): Route {
  return route({
    method: "GET",
    path: "/checkpoints/{checkpointId}",
    name: "getCheckpoint",
    summary: "Show a checkpoint",
    params: checkpointParams,
    answers: [{ status: 200, description: "The checkpoint.", schema: oneCheckpointSchema }],
    errors: ["not_found"],
    handle: async ({ caller, params }) => ({ checkpoint: await checkpoints.get(caller(), params.checkpointId) }),
  });
}

function remove(checkpoints: CheckpointService): Route {
  return route({
    method: "DELETE",
    path: "/checkpoints/{checkpointId}",
    name: "deleteCheckpoint",
    summary: "Delete a checkpoint",
    description: "Sandboxes that were made from it go on; its image goes with the last of them.",
    params: checkpointParams,
    answers: [{ status: 204, description: "It is deleted." }],
    errors: ["not_found"],
    handle: ({ caller, params }) => checkpoints.delete(caller(), params.checkpointId),
  });
}
