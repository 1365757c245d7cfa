/** API keys, as E2B's dashboard and scripts use them. Only hashes are stored, so a key is shown only when it is created. */
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { callerOf } from "../http/caller-of.ts";
import type { KeyService } from "#services/keys/key-service.ts";
import { notYet } from "./not-yet.ts";

const wishBody = Type.Object({ name: Type.String({ minLength: 1 }) });
type KeyView = ReturnType<KeyService["list"]>[number];

const prefix = "e2b_";
const digits = 40;

export function keyRoutes(app: FastifyInstance, keys: KeyService): void {
  app.get("/api-keys", async (request) => keys.list(callerOf(request)).map((key) => keyBody(key)));
  app.post("/api-keys", { schema: { body: wishBody } }, async (request, reply) => {
    const caller = callerOf(request);
    const { name } = request.body as Static<typeof wishBody>;
    // Like the caller's own key: E2B's keys belong to a team and have no roles.
    const { key, ...created } = await keys.create(caller, { name, role: caller.role });
    return reply.code(201).send({ ...keyBody(created, key), key });
  });
  app.delete("/api-keys/:apiKeyID", async (request, reply) => {
    await keys.revoke(callerOf(request), (request.params as { readonly apiKeyID: string }).apiKeyID);
    return reply.code(204).send();
  });
  app.patch("/api-keys/:apiKeyID", () => {
    throw notYet("renaming API keys: create a new key and delete this one");
  });
}

function keyBody({ id, name, createdAt }: KeyView, key?: string) {
  const value = key?.slice(prefix.length) ?? "";
  return {
    id,
    name,
    mask: { prefix, valueLength: digits, maskedValuePrefix: value.slice(0, 2), maskedValueSuffix: value.slice(-4) },
    createdAt,
    createdBy: null,
    // Last use of a key is not recorded, so `lastUsed` is left out: null would mean "never used".
  };
}
