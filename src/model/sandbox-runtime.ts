/** What a template defines and a pool may define for itself: the pods, their waiting image, and the runtimes inside. */
import { Type, type Static } from "typebox";
import { podTemplate, probeSchema } from "./common-schemas.ts";
import type { Frozen } from "./frozen.ts";
import type { JsonObject } from "./meta.ts";
import { choice, int32, listMap, text } from "./schema-builders.ts";

const runtimeSchema = Type.Object(
  {
    name: text("Which runtime: e2b, swerex, aiosandbox, or one of your own.", { minLength: 1, maxLength: 63 }),
    port: Type.Optional(int32("Port it listens on inside the pod.", { minimum: 1, maximum: 65535 })),
    protocol: Type.Optional(choice(["TCP", "UDP", "SCTP"], "Protocol of the port.", { default: "TCP" })),
    description: Type.Optional(text("For people.")),
    logDir: Type.Optional(text("Its log file inside the container, such as /tmp/envd.log. Lets the logs API read it.")),
    readinessProbe: Type.Optional(probeSchema),
    config: Type.Optional(
      Type.Unsafe<JsonObject>({
        type: "object",
        description:
          "Settings of this runtime, in its own form: those that AgentBox serves check them, others get them in RUNTIME_<NAME>_CONFIG.",
        "x-kubernetes-preserve-unknown-fields": true,
      }),
    ),
  },
  { description: "A service inside the sandbox that clients talk to." },
);

export type SandboxRuntime = Frozen<Static<typeof runtimeSchema>>;

/** Properties of an object schema, not a schema: both kinds carry them inline. */
export const embeddedTemplate = {
  template: Type.Optional(podTemplate("Pod template. Its images are the ones that sandboxes run unless a request names others.")),
  idleImage: Type.Optional(text("Image that waiting pods run. The first container's own image when left out.")),
  runtimes: Type.Optional(
    listMap(runtimeSchema, "name", { description: "Runtimes inside the sandbox. A default one when left out.", maxItems: 32 }),
  ),
};

const embeddedTemplateSchema = Type.Object(embeddedTemplate);

export type EmbeddedSandboxTemplate = Frozen<Static<typeof embeddedTemplateSchema>>;
