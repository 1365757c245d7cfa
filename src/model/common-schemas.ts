/** Types of Kubernetes itself that stand inside our kinds. */
import { Type } from "typebox";
import type { PodTemplate } from "./pod.ts";
import { choice, count, int32, int64, intOrString, labelMap, listMap, resourceList, rules, text, time } from "./schema-builders.ts";

const conditionTypePattern =
  "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";

export const conditionSchema = Type.Object(
  {
    type: text("What is judged, such as Ready.", { pattern: conditionTypePattern, maxLength: 316 }),
    status: choice(["True", "False", "Unknown"], "The judgement."),
    observedGeneration: Type.Optional(int64("metadata.generation that was judged.", { minimum: 0 })),
    lastTransitionTime: time("When status last changed."),
    reason: text("One CamelCase word for programs: why status is what it is.", {
      pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
      minLength: 1,
      maxLength: 1024,
    }),
    message: text("The same for people. May be empty.", { maxLength: 32768 }),
  },
  { description: "One aspect of the object's state." },
);

export function conditions(description: string) {
  return listMap(conditionSchema, "type", { description });
}

export const labelSelectorSchema = Type.Object(
  {
    matchLabels: Type.Optional(labelMap("Labels that must be there with these values.")),
    matchExpressions: Type.Optional(
      Type.Array(
        Type.Object({
          key: text("Label key."),
          operator: choice(["In", "NotIn", "Exists", "DoesNotExist"], "How the label relates to values."),
          values: Type.Optional(Type.Array(Type.String(), { description: "Needed by In and NotIn, empty for the others." })),
        }),
        { description: "Conditions that must all hold." },
      ),
    ),
  },
  { description: "Which objects are meant. All parts must match.", "x-kubernetes-map-type": "atomic" },
);

export function resourceRequirements(description: string) {
  return Type.Object(
    {
      limits: Type.Optional(resourceList("The most that may be used.")),
      requests: Type.Optional(resourceList("What is kept free for it.")),
      claims: Type.Optional(
        listMap(
          Type.Object({
            name: text("A claim of the pod's spec.resourceClaims."),
            request: Type.Optional(text("One request of that claim; all when left out.")),
          }),
          "name",
          { description: "Devices that are claimed for the pod." },
        ),
      ),
    },
    { description },
  );
}

const httpHeader = Type.Object({ name: text("Header name."), value: text("Header value.") });
const port = (): ReturnType<typeof intOrString> => intOrString({ description: "Number, or name of a container port." });

export const probeSchema = Type.Object(
  {
    exec: Type.Optional(
      Type.Object({
        command: Type.Optional(
          Type.Array(Type.String(), { description: "Program and arguments, run without a shell; exit 0 is success." }),
        ),
      }),
    ),
    grpc: Type.Optional(
      Type.Object({
        port: int32("Port of a gRPC health service.", { minimum: 1, maximum: 65535 }),
        service: Type.Optional(text("Service name to ask for.", { default: "" })),
      }),
    ),
    httpGet: Type.Optional(
      Type.Object({
        host: Type.Optional(text("Host to ask; the pod itself when left out.")),
        httpHeaders: Type.Optional(Type.Array(httpHeader, { description: "Headers to send." })),
        path: Type.Optional(text("Path to ask for.")),
        port: port(),
        scheme: Type.Optional(text("HTTP or HTTPS; HTTP when left out.")),
      }),
    ),
    tcpSocket: Type.Optional(Type.Object({ host: Type.Optional(text("Host to connect to; the pod itself when left out.")), port: port() })),
    initialDelaySeconds: Type.Optional(count("Wait this long after the start.")),
    periodSeconds: Type.Optional(count("Time between two tries; 10 when left out.")),
    timeoutSeconds: Type.Optional(count("Time for one try; 1 when left out.")),
    successThreshold: Type.Optional(count("Successes in a row that count; 1 when left out.")),
    failureThreshold: Type.Optional(count("Failures in a row that count; 3 when left out.")),
    terminationGracePeriodSeconds: Type.Optional(int64("Grace for the pod when this probe ends it.", { minimum: 0 })),
  },
  {
    description: "How to find out whether it is ready. Has exactly one of exec, grpc, httpGet and tcpSocket.",
    ...rules({
      rule: "(has(self.exec) ? 1 : 0) + (has(self.grpc) ? 1 : 0) + (has(self.httpGet) ? 1 : 0) + (has(self.tcpSocket) ? 1 : 0) == 1",
      message: "must have exactly one of exec, grpc, httpGet and tcpSocket",
    }),
  },
);

const containerList = (description: string) => ({
  type: "array",
  description,
  items: {
    type: "object",
    required: ["name"],
    properties: {
      name: { type: "string", description: "Unique among the containers of the pod.", minLength: 1, maxLength: 63 },
      image: { type: "string", description: "Image to run." },
    },
    "x-kubernetes-preserve-unknown-fields": true,
  },
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["name"],
});

/**
 * A pod template goes through as it is: which fields a pod has is the business of the server that runs it, and this schema
 * must not lose the ones of a newer Kubernetes. Only what AgentBox itself relies on is said: containers have unique names.
 */
export function podTemplate(description: string) {
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true } as const;
  return Type.Unsafe<PodTemplate>({
    ...open,
    description,
    properties: {
      metadata: {
        ...open,
        description: "Labels and annotations of the pods.",
        properties: {
          labels: { type: "object", additionalProperties: { type: "string" } },
          annotations: { type: "object", additionalProperties: { type: "string" } },
        },
      },
      spec: {
        ...open,
        description: "Spec of the pods. Fields are those of a Pod and are not checked here.",
        properties: {
          containers: containerList("Containers of the pods; the first one is the sandbox."),
          initContainers: containerList("Containers that run before them."),
        },
      },
    },
  });
}
