/** API keys: make, list, revoke. */
import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import { choice, text } from "#model/schema-builders.ts";
import type { KeyService } from "#services/keys/key-service.ts";
import { noteSubject } from "../http/observe-requests.ts";
import { registerRoutes } from "./register-routes.ts";
import { type Route, route } from "./route.ts";
import { closed, named, open, optional, time } from "./schemas/builders.ts";

const wishSchema = named(
  "CreateKey",
  closed(
    {
      role: optional(choice(["admin", "tenant"], "Role of the key; tenant when left out.")),
      team: optional(text("Team of the key; the caller's team when left out.")),
      user: optional(text("Limits the key to this user of the team.")),
      name: optional(text("Name that says what the key is for.")),
      expiresAt: optional(text("Expiry time, RFC 3339; the key does not expire when left out.")),
    },
    "A key to create.",
  ),
);

const keyProperties = {
  id: text("Id of the key, for logs and lists; not secret."),
  role: choice(["admin", "tenant"], "Role of the key."),
  team: optional(text("Team of the key; absent for an admin key.")),
  user: optional(text("User of the key; absent for a key of the whole team.")),
  name: text("Name that says what the key is for."),
  createdAt: time("Creation time."),
  expiresAt: optional(time("Expiry time; absent if the key does not expire.")),
  createdBy: optional(text("Id of the key that created it; absent for the first key.")),
  source: optional(choice(["global"], "Present on a key that a hub keeps in all of its clusters; revoke such a key on the hub.")),
};
const keySchema = named("Key", open(keyProperties, "An API key without its secret."));
const createdSchema = named(
  "CreatedKey",
  open({ ...keyProperties, key: text("The secret key. Only this answer contains it.") }, "A new API key."),
);
const keysSchema = open({ keys: Type.Array(keySchema, { description: "Oldest first." }) }, "Keys.");
const revokeQuery = closed(
  {
    made: optional(
      choice(
        ["revoke", "keep"],
        "What happens to the keys created with this key, directly or indirectly; revoke when left out. Required for an admin key that has created keys.",
      ),
    ),
  },
  "What else ends.",
);
const keyParams = Type.Object({ id: text("The id of a key.") });

export function keyRoutes(app: FastifyInstance, keys: KeyService): void {
  registerRoutes(app, keyRouteList({ keys }));
}

export function keyRouteList({ keys }: { readonly keys: KeyService }): readonly Route[] {
  return [
    route({
      method: "POST",
      path: "/keys",
      name: "createKey",
      summary: "Create an API key",
      description: "The new key cannot have more rights or a later expiry than the caller's key.",
      body: wishSchema,
      answers: [{ status: 201, description: "The new key. Its secret is not shown again.", schema: createdSchema }],
      errors: ["limit_reached"],
      handle: async ({ caller, body, request }) => {
        const created = await keys.create(caller(), body);
        noteSubject(request, { id: created.id });
        return created;
      },
    }),
    route({
      method: "GET",
      path: "/keys",
      name: "listKeys",
      summary: "List API keys: the caller's, or all for an admin",
      answers: [{ status: 200, description: "All of them.", schema: keysSchema }],
      errors: [],
      handle: async ({ caller }) => ({ keys: keys.list(caller()) }),
    }),
    route({
      method: "DELETE",
      path: "/keys/{id}",
      name: "revokeKey",
      summary: "Revoke an API key",
      description: "Ends the key's open requests and terminal tokens. Keys created with it are revoked too, unless the request keeps them.",
      params: keyParams,
      query: revokeQuery,
      answers: [{ status: 204, description: "The key was revoked." }],
      errors: ["not_found", "conflict"],
      handle: ({ caller, params, query }) => keys.revoke(caller(), params.id, query.made),
    }),
  ];
}
