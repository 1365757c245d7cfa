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
      role: optional(choice(["admin", "tenant"], "What it may do; tenant when left out.")),
      team: optional(text("The team that it belongs to; the caller's own team when left out.")),
      user: optional(text("Only this user of the team.")),
      name: optional(text("What it is for.")),
      expiresAt: optional(text("RFC 3339; never when left out.")),
    },
    "A key to be made.",
  ),
);

const keyProperties = {
  id: text("What it is called where it must not be seen."),
  role: choice(["admin", "tenant"], "What it may do."),
  team: optional(text("The team that it belongs to; absent for an admin's key.")),
  user: optional(text("The user that it belongs to; absent for a key of the whole team.")),
  name: text("What it is for."),
  createdAt: time("When it was made."),
  expiresAt: optional(time("Until when it is good; absent: for ever.")),
  createdBy: optional(text("The id of the key that made it; absent for the first one.")),
  source: optional(choice(["global"], "Present on a key that a hub keeps in all of its clusters: it is revoked there.")),
};
const keySchema = named("Key", open(keyProperties, "A key, without the key itself."));
const createdSchema = named(
  "CreatedKey",
  open({ ...keyProperties, key: text("The key itself, shown here and never again.") }, "A key that was made."),
);
const keysSchema = open({ keys: Type.Array(keySchema, { description: "Oldest first." }) }, "Keys.");
const revokeQuery = closed(
  {
    made: optional(
      choice(
        ["revoke", "keep"],
        "What becomes of the keys that it made, and of those that these made: revoke when left out. For an admin key that made some, it must be said.",
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
      summary: "Make an API key",
      description: "Never one with more rights than the caller's, nor one that outlives it.",
      body: wishSchema,
      answers: [{ status: 201, description: "The key, for the only time.", schema: createdSchema }],
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
      summary: "API keys: the caller's own, and all for an admin",
      answers: [{ status: 200, description: "All of them.", schema: keysSchema }],
      errors: [],
      handle: async ({ caller }) => ({ keys: keys.list(caller()) }),
    }),
    route({
      method: "DELETE",
      path: "/keys/{id}",
      name: "revokeKey",
      summary: "Revoke an API key",
      description: "Its requests under way and its terminal tokens end with it, and so do the keys that it made, unless they are kept.",
      params: keyParams,
      query: revokeQuery,
      answers: [{ status: 204, description: "It is of no use any more." }],
      errors: ["not_found", "conflict"],
      handle: ({ caller, params, query }) => keys.revoke(caller(), params.id, query.made),
    }),
  ];
}
