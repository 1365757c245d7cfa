/** Numbers, and who asks. */
import type { Caller } from "#services/caller.ts";
import type { SandboxStatistics } from "#services/sandbox-statistics.ts";
import { type Route, route } from "./route.ts";
import { statisticsQuery, statisticsSchema, whoamiSchema } from "./schemas/about.ts";

export interface AboutRoutesDeps {
  readonly statistics: (caller: Caller, wanted: { readonly since?: string }) => Promise<SandboxStatistics>;
}

export function aboutRoutes({ statistics }: AboutRoutesDeps): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/statistics/sandboxes",
      name: "countSandboxes",
      summary: "How many sandboxes there are and were",
      query: statisticsQuery,
      answers: [{ status: 200, description: "The numbers.", schema: statisticsSchema }],
      errors: ["timeout"],
      handle: ({ caller, query }) => statistics(caller(), query),
    }),
    route({
      method: "GET",
      path: "/auth/whoami",
      name: "whoAmI",
      summary: "Who the key belongs to",
      description: "An admin who acts as somebody is told as whom.",
      answers: [{ status: 200, description: "Who asks.", schema: whoamiSchema }],
      errors: [],
      handle: async ({ caller }) => caller(),
    }),
  ];
}
