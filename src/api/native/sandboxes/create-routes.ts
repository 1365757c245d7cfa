/** Creates sandboxes, one or several. */
import type { ErrorCode } from "#model/error-codes.ts";
import type { SandboxService } from "#services/sandbox-service.ts";
import { noteSubject } from "#api/http/observe-requests.ts";
import { requestSignal } from "#api/http/request-signal.ts";
import { batchField, createCommand, createField } from "./create-command.ts";
import { type Route, route } from "#api/native/route.ts";
import { createdBody } from "./sandbox-body.ts";
import { batchSchema, createdBatchSchema, createdSchema, createHeaders, createQuery, createSchema } from "#api/native/schemas/sandbox.ts";

const createErrors: readonly ErrorCode[] = [
  "not_found",
  "conflict",
  "too_large",
  "no_capacity",
  "queue_full",
  "limit_reached",
  "image_unavailable",
  "start_failed",
  "hook_failed",
  "timeout",
];

export function createRoutes({ sandboxes }: { readonly sandboxes: SandboxService }): readonly Route[] {
  return [createOne(sandboxes), createBatch(sandboxes)];
}

function createOne(sandboxes: SandboxService): Route {
  return route({
    method: "POST",
    path: "/sandboxes",
    name: "createSandbox",
    summary: "Make a sandbox",
    description:
      "Answers when the sandbox can be used. If the client disconnects earlier, its place in the queue, or the pod it was given, is released.",
    query: createQuery,
    headers: createHeaders,
    body: createSchema,
    answers: [
      { status: 201, description: "The sandbox runs.", schema: createdSchema },
      { status: 202, description: "With wait=false: the sandbox starts.", schema: createdSchema },
    ],
    errors: createErrors,
    fieldOf: createField,
    handle: async ({ caller, query: { wait = true }, headers, body, request, reply }) => {
      const options = { wait, signal: requestSignal(reply) };
      const created = await sandboxes.create(caller(), createCommand(body, headers), options);
      const { sandboxId } = created.sandbox;
      noteSubject(request, { sandboxId });
      reply.code(wait ? 201 : 202).header("location", `/v1/sandboxes/${sandboxId}`);
      return createdBody(created);
    },
  });
}

function createBatch(sandboxes: SandboxService): Route {
  return route({
    method: "POST",
    path: "/sandboxes/batch",
    name: "createSandboxes",
    summary: "Create several equal sandboxes",
    description: "Creates count sandboxes, or at least atLeast of them. If fewer can be created, those are ended and the request fails.",
    query: createQuery,
    headers: createHeaders,
    body: batchSchema,
    answers: [
      { status: 201, description: "The sandboxes run.", schema: createdBatchSchema },
      { status: 202, description: "With wait=false: the sandboxes start.", schema: createdBatchSchema },
    ],
    errors: createErrors,
    fieldOf: batchField,
    handle: async ({ caller, query: { wait = true }, headers, body: { sandbox, ...numbers }, request, reply }) => {
      const options = { wait, signal: requestSignal(reply), ...numbers };
      const batch = await sandboxes.createMany(caller(), createCommand(sandbox, headers), options);
      noteSubject(request, { made: String(batch.sandboxes.length) });
      reply.code(wait ? 201 : 202);
      return { sandboxes: batch.sandboxes.map(createdBody), failures: batch.failures };
    },
  });
}
