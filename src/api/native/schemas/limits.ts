/** Limits of the server, of teams and of users. */
import { Type } from "typebox";
import { choice, count, labelValue, text } from "#model/schema-builders.ts";
import { closed, named, open, optional } from "./builders.ts";

const limitSchema = named(
  "Limit",
  open(
    {
      name: text("Its name."),
      limit: optional(count("The limit; absent if there is none.")),
      used: optional(Type.Number({ minimum: 0, description: "Current usage; absent for limits that are not sums." })),
      isSet: Type.Boolean({
        description:
          "True if an admin set the limit for this owner. False: it is the built-in default, or the default for all teams or all users of the team.",
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
      user: optional(text("User of the team; * stands for every user without limits of its own.")),
      limits: Type.Array(limitSchema, { description: "All limits." }),
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
        description: "Limit names and values. Null resets a limit to its default. Limits that are left out do not change.",
      }),
    },
    "Limits to set.",
  ),
);

export const limitsQuery = closed(
  {
    team: optional(labelValue("Only limits of this team and its users.", { minLength: 1 })),
    user: optional(labelValue("Only limits of this user of the team.", { minLength: 1 })),
  },
  "Selects limits by team and user.",
);

export const teamParams = Type.Object({ team: labelValue("The name of a team.", { minLength: 1 }) });
export const userParams = Type.Object({
  team: labelValue("The name of a team.", { minLength: 1 }),
  user: text("Name of a user of the team; * for every user without limits of its own.", {
    minLength: 1,
    maxLength: 63,
    pattern: "^(\\*|[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)$",
  }),
});
