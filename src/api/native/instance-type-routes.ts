/** The catalogue of instance types. */
import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import { resourceRequirements } from "#model/common-schemas.ts";
import { count, text } from "#model/schema-builders.ts";
import type { InstanceTypeService } from "#services/templates/instance-type-service.ts";
import { registerRoutes } from "./register-routes.ts";
import { type Route, route } from "./route.ts";
import { named, open, optional, texts } from "./schemas/builders.ts";

const instanceTypeSchema = named(
  "InstanceType",
  open(
    {
      name: text("Name, used in members of Envs and in creates."),
      resources: resourceRequirements("Resources of a pod with a multiplier of 1."),
      minMultiplier: count("The smallest multiplier."),
      maxMultiplier: count("The largest multiplier."),
      nodeSelector: optional(texts("Node labels that pods of this type require; shown to admins.")),
      pricePerHour: optional(Type.Number({ description: "Price for a multiplier of 1, in the currency of the installation." })),
      description: optional(text("For people.")),
    },
    "A named pod size that members of Envs can use instead of explicit resources.",
  ),
);
const listSchema = open(
  {
    instanceTypes: Type.Array(instanceTypeSchema, { description: "Sorted by name." }),
    problems: optional(
      Type.Array(
        open({ name: text("Name of the entry."), message: text("What is wrong with the entry, and what would be right.") }, "An entry."),
        {
          description: "Invalid entries of the catalogue; shown to admins.",
        },
      ),
    ),
  },
  "The catalogue.",
);

export interface InstanceTypeRoutesDeps {
  readonly instanceTypes: InstanceTypeService;
}

export function instanceTypeRoutes(app: FastifyInstance, instanceTypes: InstanceTypeService): void {
  registerRoutes(app, instanceTypeRouteList({ instanceTypes }));
}

export function instanceTypeRouteList({ instanceTypes }: InstanceTypeRoutesDeps): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/instance-types",
      name: "listInstanceTypes",
      summary: "List the instance types",
      description: "Admins define them in the ConfigMap agentbox-instance-types, one key for each type.",
      answers: [{ status: 200, description: "The catalogue.", schema: listSchema }],
      errors: [],
      handle: async ({ caller }) => instanceTypes.list(caller()),
    }),
  ];
}
