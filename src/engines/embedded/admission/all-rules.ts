import { customKinds } from "#model/kinds.ts";
import { configMapRules } from "./builtin/config-map-rules.ts";
import { eventRules } from "./builtin/event-rules.ts";
import { leaseRules } from "./builtin/lease-rules.ts";
import { namespaceRules } from "./builtin/namespace-rules.ts";
import { podRules } from "./builtin/pod-rules.ts";
import { secretRules } from "./builtin/secret-rules.ts";
import { customKindRules } from "./custom-kind-rules.ts";
import type { KindRules } from "./kind-rules.ts";

/** The rules of every kind that the embedded store keeps. */
export function embeddedKindRules(): KindRules[] {
  return [podRules, namespaceRules, secretRules, configMapRules, eventRules, leaseRules, ...customKinds.map(customKindRules)];
}
