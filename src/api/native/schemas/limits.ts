/** Limits of the server, of teams and of users. */
import { Type } from "typebox";
import { choice, count, labelValue, text } from "#model/schema-builders.ts";
import { closed, named, open, optional } from "./builders.ts";

const limitSchema = named(
  "Limit",
  open(
    {
      name: text("Its name."),
      limit: optional(count("How much may be had; absent: as much as there is.")),
      used: optional(Type.Number({ minimum: 0, description: "How much of it is used now; absent where nothing adds up." })),
      isSet: Type.Boolean({
        description: "Whether an admin has set it here; if not, it is the usual one, or what every team or every user of the team has.",
      }),
      about: text("What it limits."),
    },
    "A limit.",
  ),
);

export const limitSetSchema = named(
  "LimitSet",
  open(
    {
      of: choice(["server", "teams", "team", "user"], "The owner of these limits: the server, every team, one team, or one user of it."),
      team: optional(text("Which team.")),
      user: optional(text("Which user of it; * is every user that has none of its own.")),
      limits: Type.Array(limitSchema, { description: "All that there are." }),
    },
    "Limits of the server, of a team or of a user.",
  ),
);

export const limitSetsSchema = open({ sets: Type.Array(limitSetSchema, { description: "The server's first." }) }, "Limits.");

export const changeLimitsSchema = named(
  "ChangeLimits",
  closed(
    {
      limits: Type.Record(Type.String(), Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]), {
        description: "Name to the most that may be had. Null: as if it had never been set. What is left out stays.",
      }),
    },
    "Limits to be set.",
  ),
);

export const limitsQuery = closed(
  {
    team: optional(labelValue("Only of this team and its users.", { minLength: 1 })),
    user: optional(labelValue("Only of this user of the team.", { minLength: 1 })),
  },
  "Selects limits by team and user.",
);

export const teamParams = Type.Object({ team: labelValue("The name of a team.", { minLength: 1 }) });
export const userParams = Type.Object({
  team: labelValue("The name of a team.", { minLength: 1 }),
  user: text("The name of a user of it; * for every user that has no limits of its own.", {
    minLength: 1,
    maxLength: 63,
    pattern: "^(\\*|[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)$",
  }),
});
