/** SandboxPools that every API server refuses. */
import { badObjectsOf, smallest } from "./object-corpus.ts";

const bad = badObjectsOf("pool");

export const badPools = [
  bad.metadata("pool name in capitals", { name: "Shell" }, ["metadata.name", "FieldValueInvalid"]),
  bad.metadata("pool name of 64 characters, which no label could hold", { name: "a".repeat(64) }, ["metadata.name", "FieldValueTooLong"]),

  bad.spec("pool whose spec is empty", {}, ["spec.replicas", "FieldValueRequired"]),
  bad.spec("pool without replicas", { templateName: "shell" }, ["spec.replicas", "FieldValueRequired"]),
  bad.spec("pool with replicas in quotes", { ...smallest.pool, replicas: "2" }, ["spec.replicas", "FieldValueTypeInvalid"]),
  bad.spec("pool with one and a half replicas", { ...smallest.pool, replicas: 1.5 }, ["spec.replicas", "FieldValueTypeInvalid"]),
  bad.spec("pool with negative replicas", { ...smallest.pool, replicas: -1 }, ["spec.replicas", "FieldValueInvalid"]),
  bad.spec("pool with more replicas than an int32 holds", { ...smallest.pool, replicas: 2147483648 }, [
    "spec.replicas",
    "FieldValueInvalid",
  ]),
  bad.spec("pool with nothing to make pods from", { replicas: 1 }, ["spec.templateName", "FieldValueRequired"]),
  bad.spec("pool with an empty template name", { replicas: 1, templateName: "" }, ["spec.templateName", "FieldValueInvalid"]),
  bad.spec("pool with a template name that no template can have", { replicas: 1, templateName: "Shell_1" }, [
    "spec.templateName",
    "FieldValueInvalid",
  ]),
  bad.spec("pool with a template name of 254 characters", { replicas: 1, templateName: "a".repeat(254) }, [
    "spec.templateName",
    "FieldValueTooLong",
  ]),
  bad.spec("pool with an unknown image policy", { ...smallest.pool, podCreationImagePolicy: "Newest" }, [
    "spec.podCreationImagePolicy",
    "FieldValueNotSupported",
  ]),
  bad.spec("pool with a startup timeout in words", { ...smallest.pool, defaultStartupTimeout: "2 minutes" }, [
    "spec.defaultStartupTimeout",
    "FieldValueInvalid",
  ]),
  bad.spec("pool with a startup timeout that is a number", { ...smallest.pool, defaultStartupTimeout: 120 }, [
    "spec.defaultStartupTimeout",
    "FieldValueTypeInvalid",
  ]),
  bad.spec("pool with a negative idle timeout", { ...smallest.pool, defaultIdleTimeout: "-5m" }, [
    "spec.defaultIdleTimeout",
    "FieldValueInvalid",
  ]),
  bad.spec("pool with a deep pause after a day in words", { ...smallest.pool, deepPause: { after: "a day" } }, [
    "spec.deepPause.after",
    "FieldValueInvalid",
  ]),
  bad.spec("pool with an idle timeout without a unit", { ...smallest.pool, defaultIdleTimeout: "300" }, [
    "spec.defaultIdleTimeout",
    "FieldValueInvalid",
  ]),

  bad.status("pool in an unknown phase", { phase: "Happy" }, ["status.phase", "FieldValueNotSupported"]),
  bad.status("pool with an idle count in quotes", { idleReplicas: "3" }, ["status.idleReplicas", "FieldValueTypeInvalid"]),
  bad.status("pool with a phase selector that is a number", { phaseSelectors: { idle: 1 } }, [
    "status.phaseSelectors.idle",
    "FieldValueTypeInvalid",
  ]),
  bad.status("pool selector with an unknown operator", { labelSelector: { matchExpressions: [{ key: "a", operator: "Like" }] } }, [
    "status.labelSelector.matchExpressions[0].operator",
    "FieldValueNotSupported",
  ]),
  bad.status("pool selector without an operator", { labelSelector: { matchExpressions: [{ key: "a" }] } }, [
    "status.labelSelector.matchExpressions[0].operator",
    "FieldValueRequired",
  ]),
  bad.status("pool that scaled up at a time that is none", { autoscaling: { lastScaleUpTime: "yesterday" } }, [
    "status.autoscaling.lastScaleUpTime",
    "FieldValueTypeInvalid",
  ]),
  bad.status("pool with an unknown result of growing", { autoscaling: { lastScaleUpAttemptResult: "Maybe" } }, [
    "status.autoscaling.lastScaleUpAttemptResult",
    "FieldValueNotSupported",
  ]),
];
