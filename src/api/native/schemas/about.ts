/** Schemas of statistics, of the caller's identity, and of errors. */
import { Type } from "typebox";
import { errorCodes } from "#model/error-codes.ts";
import { choice, count, text } from "#model/schema-builders.ts";
import { closed, named, open, optional, time } from "./builders.ts";

const counts = (description: string) =>
  Type.Array(open({ key: text("What is counted."), count: Type.Integer({ description: "How many." }) }, "One number."), { description });

export const statisticsQuery = closed(
  { since: optional(time("Count ended sandboxes claimed since this time; the last day when left out.")) },
  "Since when.",
);

export const statisticsSchema = open(
  {
    live: open(
      { total: Type.Integer({ description: "All." }), byStatus: counts("By status."), byPool: counts("By pool.") },
      "Sandboxes that have not ended.",
    ),
    since: time("Ended sandboxes claimed at or after this time are counted."),
    ended: open(
      {
        total: Type.Integer({ description: "All." }),
        byStatus: counts("By status."),
        byPool: counts("By pool."),
        byDay: counts("Counts by the UTC day of the claim."),
      },
      "Sandboxes that have ended.",
    ),
  },
  "Counts of live and ended sandboxes.",
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
      title: text("Title of the error code."),
      status: Type.Integer({ description: "The HTTP status." }),
      code: choice(errorCodes, "Error code for programs."),
      detail: text("Explanation for people."),
      field: optional(text("Path of the wrong field in the request, such as metadata.team or query.limit.")),
      retryAfterSeconds: optional(Type.Number({ description: "Seconds to wait before the next attempt; also in the header Retry-After." })),
      available: optional(Type.Array(Type.String(), { description: "Existing values to choose from." })),
      limit: optional(
        open(
          {
            name: text("Name of the limit, as in GET /v1/limits."),
            of: choice(["user", "team", "server"], "The owner of the limit: a user, a team or the server."),
            team: optional(text("Which team's.")),
            user: optional(text("User, if the limit belongs to a user of the team.")),
            limit: count("The limit."),
            used: optional(Type.Number({ minimum: 0, description: "Current usage; absent if the caller may not see it." })),
          },
          "The limit that was reached.",
        ),
      ),
      pool: optional(
        open({ idle: standing, starting: standing, running: standing, stopping: standing, waiting: standing }, "State of the pool."),
      ),
      env: optional(text("Env of the request; pool then has the sums over the pools of the Env.")),
      requestId: optional(text("Id of the request in the server's log.")),
    },
    "An error (RFC 9457).",
  ),
);
