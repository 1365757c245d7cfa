/** SandboxTemplates that every API server refuses. */
import type { Json, JsonObject } from "#model/meta.ts";
import { badObjectsOf, containers } from "./object-corpus.ts";

const bad = badObjectsOf("template");
const withRuntimes = (...runtimes: readonly Json[]): JsonObject => ({ template: containers, runtimes });
const withProbe = (readinessProbe: Json): JsonObject => withRuntimes({ name: "e2b", readinessProbe });
const withCondition = (change: JsonObject): JsonObject => ({ conditions: [{ ...condition, ...change }] });

const condition = {
  type: "Available",
  status: "True",
  lastTransitionTime: "2026-01-02T03:04:05Z",
  reason: "Served",
  message: "",
} as const;

const { message: _, ...conditionWithoutMessage } = condition;

const changed = (number: number): JsonObject => ({ template: containers, idleImage: `registry.invalid/idle:${number}` });
const versioned = (more: JsonObject): JsonObject => ({ template: containers, version: "v1.2.0", ...more });
const withField = (number: number): JsonObject => ({
  template: { spec: { containers: [{ name: "sandbox", image: "host", env: [{ name: "N", value: `${number}` }] }], priority: number } },
});

/** Of a template that changes. */
export const fallingVersions = [
  ["v1.2.0", "v1.1.9"],
  ["v1.10.0", "v1.9.0"],
  ["2.0.0", "v1.99.99"],
  ["1.0.10", "1.0.9"],
  ["1.0.0", "1.0.0-rc1"],
  ["1.0.0-rc2", "1.0.0-rc1"],
  ["1.0.0+a", "1.0.0+b"],
] as const;

export const badTemplates = [
  bad.metadata("template name with a space", { name: "a shell" }, ["metadata.name", "FieldValueInvalid"]),
  bad.metadata("template name of 254 characters", { name: "a".repeat(254) }, ["metadata.name", "FieldValueInvalid"]),
  bad.metadata("template label value with a space", { labels: { team: "my team" } }, ["metadata.labels", "FieldValueInvalid"]),
  bad.metadata("template label value of 64 characters", { labels: { team: "x".repeat(64) } }, ["metadata.labels", "FieldValueInvalid"]),
  bad.metadata("template label key without a name", { labels: { "example.com/": "x" } }, ["metadata.labels", "FieldValueInvalid"]),
  bad.metadata("template annotation key with two slashes", { annotations: { "a/b/c": "x" } }, [
    "metadata.annotations",
    "FieldValueInvalid",
  ]),
  bad.metadata("template finalizer with a space", { finalizers: ["example.com/my own"] }, ["metadata.finalizers", "FieldValueInvalid"]),
  bad.metadata("template owner without a uid", { ownerReferences: [{ apiVersion: "v1", kind: "Namespace", name: "default", uid: "" }] }, [
    "metadata.ownerReferences.uid",
    "FieldValueInvalid",
  ]),

  bad.withoutSpec("template without a spec", ["spec", "FieldValueRequired"]),
  bad.spec("template whose spec is text", "shell", ["spec", "FieldValueTypeInvalid"]),
  bad.spec("template whose pod template is a list", { template: [] }, ["spec.template", "FieldValueTypeInvalid"]),
  bad.spec("template with containers that are no list", { template: { spec: { containers: {} } } }, [
    "spec.template.spec.containers",
    "FieldValueTypeInvalid",
  ]),
  bad.spec("template with a container without a name", { template: { spec: { containers: [{ image: "host" }] } } }, [
    "spec.template.spec.containers[0].name",
    "FieldValueRequired",
  ]),
  bad.spec("template with two containers of one name", { template: { spec: { containers: [{ name: "a" }, { name: "a" }] } } }, [
    "spec.template.spec.containers[1]",
    "FieldValueDuplicate",
  ]),
  bad.spec("template with a pod label that is a number", { template: { metadata: { labels: { tier: 1 } } } }, [
    "spec.template.metadata.labels.tier",
    "FieldValueTypeInvalid",
  ]),
  bad.spec("template with an idle image that is a number", { template: containers, idleImage: 7 }, [
    "spec.idleImage",
    "FieldValueTypeInvalid",
  ]),
  bad.spec("template version of two numbers", { template: containers, version: "1.2" }, ["spec.version", "FieldValueInvalid"]),
  bad.spec("template version with a leading zero", { template: containers, version: "v1.02.0" }, ["spec.version", "FieldValueInvalid"]),
  bad.spec("template description that is an object", { template: containers, description: {} }, [
    "spec.description",
    "FieldValueTypeInvalid",
  ]),
  bad.spec("template visible to users that are numbers", { template: containers, visibility: { rules: [{ users: [1] }] } }, [
    "spec.visibility.rules[0].users[0]",
    "FieldValueTypeInvalid",
  ]),

  bad.spec("template with a runtime without a name", withRuntimes({ port: 1 }), ["spec.runtimes[0].name", "FieldValueRequired"]),
  bad.spec("template with a runtime whose name is empty", withRuntimes({ name: "" }), ["spec.runtimes[0].name", "FieldValueInvalid"]),
  bad.spec("template with two runtimes of one name", withRuntimes({ name: "e2b" }, { name: "e2b" }), [
    "spec.runtimes[1]",
    "FieldValueDuplicate",
  ]),
  bad.spec("template with 33 runtimes", withRuntimes(...Array.from({ length: 33 }, (_item, index) => ({ name: `r${index}` }))), [
    "spec.runtimes",
    "FieldValueTooMany",
  ]),
  bad.spec("template with runtime port 0", withRuntimes({ name: "e2b", port: 0 }), ["spec.runtimes[0].port", "FieldValueInvalid"]),
  bad.spec("template with runtime port 65536", withRuntimes({ name: "e2b", port: 65536 }), ["spec.runtimes[0].port", "FieldValueInvalid"]),
  bad.spec("template with a runtime port in quotes", withRuntimes({ name: "e2b", port: "80" }), [
    "spec.runtimes[0].port",
    "FieldValueTypeInvalid",
  ]),
  bad.spec("template with runtime protocol ICMP", withRuntimes({ name: "e2b", protocol: "ICMP" }), [
    "spec.runtimes[0].protocol",
    "FieldValueNotSupported",
  ]),
  bad.spec("template with a runtime config that is a list", withRuntimes({ name: "e2b", config: ["debug"] }), [
    "spec.runtimes[0].config",
    "FieldValueTypeInvalid",
  ]),
  bad.spec("template with a probe of no sort", withProbe({ periodSeconds: 1 }), ["spec.runtimes[0].readinessProbe", "FieldValueInvalid"]),
  bad.spec("template with a probe of two sorts", withProbe({ exec: { command: ["true"] }, tcpSocket: { port: 80 } }), [
    "spec.runtimes[0].readinessProbe",
    "FieldValueInvalid",
  ]),
  bad.spec("template with an HTTP probe without a port", withProbe({ httpGet: { path: "/" } }), [
    "spec.runtimes[0].readinessProbe.httpGet.port",
    "FieldValueRequired",
  ]),
  bad.spec("template with a probe port that is neither number nor text", withProbe({ tcpSocket: { port: true } }), [
    "spec.runtimes[0].readinessProbe.tcpSocket.port",
    "FieldValueTypeInvalid",
  ]),
  bad.spec("template with a negative probe period", withProbe({ tcpSocket: { port: 80 }, periodSeconds: -1 }), [
    "spec.runtimes[0].readinessProbe.periodSeconds",
    "FieldValueInvalid",
  ]),

  bad.status("template condition whose type ends with a dash", withCondition({ type: "Available-" }), [
    "status.conditions[0].type",
    "FieldValueInvalid",
  ]),
  bad.status("template condition with a message that is too long", withCondition({ message: "x".repeat(32769) }), [
    "status.conditions[0].message",
    "FieldValueTooLong",
  ]),
  bad.status("template condition of status Maybe", withCondition({ status: "Maybe" }), [
    "status.conditions[0].status",
    "FieldValueNotSupported",
  ]),
  bad.status("template condition with an empty reason", withCondition({ reason: "" }), [
    "status.conditions[0].reason",
    "FieldValueInvalid",
  ]),
  bad.status("template condition with a reason of two words", withCondition({ reason: "Is Served" }), [
    "status.conditions[0].reason",
    "FieldValueInvalid",
  ]),
  bad.status("template condition with a date for a time", withCondition({ lastTransitionTime: "2026-01-02" }), [
    "status.conditions[0].lastTransitionTime",
    "FieldValueTypeInvalid",
  ]),
  bad.status("template condition without a message", { conditions: [conditionWithoutMessage] }, [
    "status.conditions[0].message",
    "FieldValueRequired",
  ]),
  bad.status("template condition of a negative generation", withCondition({ observedGeneration: -1 }), [
    "status.conditions[0].observedGeneration",
    "FieldValueInvalid",
  ]),
  bad.status("template with two conditions of one type", { conditions: [condition, condition] }, [
    "status.conditions[1]",
    "FieldValueDuplicate",
  ]),
  ...fallingVersions.map(([from, to]) =>
    bad.update(
      `changed template that goes from version ${from} to ${to}`,
      { from: { ...changed(1), version: from }, to: { ...changed(2), version: to } },
      ["spec.version", "FieldValueInvalid"],
    ),
  ),
  bad.update("template that changes and keeps its version", { from: versioned({}), to: versioned(changed(2)) }, [
    "spec.version",
    "FieldValueInvalid",
  ]),
  bad.update("template that changes in a field that no schema knows", { from: versioned(withField(1)), to: versioned(withField(2)) }, [
    "spec.version",
    "FieldValueInvalid",
  ]),
  bad.update("template that loses its version", { from: versioned({}), to: { template: containers } }, [
    "spec.version",
    "FieldValueInvalid",
  ]),
  bad.update("template that changes who sees it and keeps its version", { from: versioned({}), to: versioned({ visibility: {} }) }, [
    "spec.version",
    "FieldValueInvalid",
  ]),
];
