/** Usage by team and user over time, as JSON and as CSV. */
import { Type } from "typebox";
import { csvLine } from "#lib/csv.ts";
import { choice, count, text } from "#model/schema-builders.ts";
import { type UsageOverTime, usageOwners, type UsageReport, usageSteps } from "#services/usage/usage-over-time.ts";
import { csvStream } from "./csv-stream.ts";
import { type Route, route } from "./route.ts";
import { closed, open, optional, time } from "./schemas/builders.ts";

export interface UsageRoutesDeps {
  readonly usageOverTime: UsageOverTime;
}

const word = (description: string) => optional(text(description, { minLength: 1, maxLength: 253 }));
const amount = (description: string) => Type.Number({ minimum: 0, description });

const usageQuery = closed(
  {
    from: optional(time("From this time on, taken down to a whole hour; 30 days ago when left out, and by hour one day ago.")),
    to: optional(time("Up to this time, taken up to a whole hour; now when left out.")),
    step: optional(
      choice(
        usageSteps,
        "A row for each hour, for each day in UTC, or one for all of the time; day when left out. By hour, at most 31 days; else 400.",
      ),
    ),
    by: optional(choice(usageOwners, "A row for each team, or for each user of a team; team when left out.")),
    team: word("Only this team."),
    user: word("Only this user."),
  },
  "Which usage.",
);

const rowSchema = open(
  {
    start: time("Start of the step."),
    team: text("The team; empty for sandboxes without an owner."),
    user: optional(text("The user; empty for sandboxes of a whole team. Absent in rows by team.")),
    creates: count("Sandboxes that requests got."),
    sandboxSeconds: amount("Seconds that sandboxes existed, from the claim to the end, pauses included."),
    cpuSeconds: amount("These seconds times the processor cores that each sandbox was given."),
    memoryGibSeconds: amount("These seconds times the GiB of memory that each sandbox was given."),
  },
  "Usage in one step.",
);

const reportSchema = open(
  {
    from: time("Start of the report."),
    to: time("End of the report; this moment is not included."),
    step: choice(usageSteps, "The step."),
    by: choice(usageOwners, "Whose usage a row is."),
    rows: Type.Array(rowSchema, { description: "By start, team and user. Steps without usage have no row." }),
  },
  "Usage over time.",
);

const about =
  "Counts what sandboxes were given, not what their processes used. A team's key sees the team, a user's key the user, an admin all. Hours are kept for 400 days. " +
  "The hour that runs is not final.";

export function usageRoutes({ usageOverTime }: UsageRoutesDeps): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/usage",
      name: "reportUsage",
      summary: "Show usage by team or user over time",
      description: about,
      query: usageQuery,
      answers: [{ status: 200, description: "The report.", schema: reportSchema }],
      errors: ["timeout"],
      handle: ({ caller, query }) => usageOverTime(caller(), query),
    }),
    route({
      method: "GET",
      path: "/usage/csv",
      name: "exportUsage",
      summary: "Export usage by team or user over time as CSV",
      description: about,
      query: usageQuery,
      answers: [{ status: 200, description: "A line for each row.", schema: text("A line of the table."), contentType: "text/csv" }],
      errors: ["timeout"],
      handle: async ({ caller, query, reply }) => csvStream(reply, "usage", linesOf(await usageOverTime(caller(), query))),
    }),
  ];
}

const amounts = ["creates", "sandboxSeconds", "cpuSeconds", "memoryGibSeconds"] as const;

async function* linesOf({ by, rows }: UsageReport): AsyncGenerator<string, void> {
  const columns = ["start", "team", ...(by === "user" ? (["user"] as const) : []), ...amounts] as const;
  yield csvLine(columns);
  yield rows.map((row) => csvLine(columns.map((column) => row[column]))).join("");
}
