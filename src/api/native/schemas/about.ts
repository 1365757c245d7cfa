/** Schemas of statistics, of the caller's identity, and of errors. */
import { Type } from "typebox";
import { errorCodes } from "#model/error-codes.ts";
import { choice, count, text } from "#model/schema-builders.ts";
import { closed, named, open, optional, time } from "./builders.ts";

const counts = (description: string) =>
  Type.Array(open({ key: text("What is counted."), count: Type.Integer({ description: "How many." }) }, "One number."), { description });

export const statisticsQuery = closed(
  { since: optional(time("Count ended sandboxes that were claimed since then; the last day when left out.")) },
  "Since when.",
);

export const statisticsSchema = open(
  {
    live: open(
      { total: Type.Integer({ description: "All." }), byStatus: counts("By status."), byPool: counts("By pool.") },
      "Sandboxes that have not ended.",
    ),
    since: time("Ended sandboxes are counted if they were claimed at or after this moment."),
    ended: open(
      {
        total: Type.Integer({ description: "All." }),
        byStatus: counts("By status."),
        byPool: counts("By pool."),
        byDay: counts("By UTC day of the claim."),
      },
      "Sandboxes that have ended.",
    ),
  },
  "How many sandboxes there are and were.",
);

export const whoamiSchema = open(
  {
    role: choice(["admin", "tenant"], "What the key may do."),
    team: text("The team that the key belongs to; empty for an admin's key."),
    user: optional(text("The user that the key belongs to; absent for a key of the whole team.")),
    keyId: text("The id of the key, not the key itself."),
  },
  "The caller.",
);

const standing = Type.Integer({ description: "How many." });

export const problemSchema = named(
  "Problem",
  open(
    {
      type: text("urn:agentbox:error: and the code."),
      title: text("The code for people."),
      status: Type.Integer({ description: "The HTTP status." }),
      code: choice(errorCodes, "What went wrong, for programs."),
      detail: text("What went wrong, for people."),
      field: optional(text("Path of what is wrong in the request, such as metadata.team or query.limit.")),
      retryAfterSeconds: optional(Type.Number({ description: "When trying again makes sense; also in the header Retry-After." })),
      available: optional(Type.Array(Type.String(), { description: "What there is instead." })),
      limit: optional(
        open(
          {
            name: text("Its name, as GET /v1/limits has it."),
            of: choice(["user", "team", "server"], "The owner of the limit: a user, a team or the server."),
            team: optional(text("Which team's.")),
            user: optional(text("Which user's of the team.")),
            limit: count("How much may be had."),
            used: optional(Type.Number({ minimum: 0, description: "How much is used; absent when that is the business of others." })),
          },
          "The limit that is reached.",
        ),
      ),
      pool: optional(
        open({ idle: standing, starting: standing, running: standing, stopping: standing, waiting: standing }, "How the pool stood."),
      ),
      env: optional(text("The Env that was asked for a pod; pool is then the sum of its pools.")),
      requestId: optional(text("What the server's log knows the request by.")),
    },
    "What went wrong (RFC 9457).",
  ),
);
