import { customKinds } from "#model/kinds.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import { configMapRules } from "./builtin/config-map-rules.ts";
import { eventRules } from "./builtin/event-rules.ts";
import { leaseRules } from "./builtin/lease-rules.ts";
import { namespaceRules } from "./builtin/namespace-rules.ts";
import { podRules } from "./builtin/pod-rules.ts";
import { secretRules } from "./builtin/secret-rules.ts";
import { customKindRules } from "./custom-kind-rules.ts";
import type { KindRules } from "./kind-rules.ts";
import { withPodTemplate } from "./pod-template-rules.ts";

export interface KindRulesOptions {
  /** Also holds the pods inside templates and pools to the rules of pods and to what the node can do; else as an API server does, which does not. */
  readonly podTemplates?: boolean | undefined;
}

/** The rules of every kind that the embedded store keeps. */
export function embeddedKindRules({ podTemplates = false }: KindRulesOptions = {}): KindRules[] {
  const own = customKinds.map((kind) => {
    const rules = customKindRules(kind);
    return podTemplates && withPods.has(kind.resource.kind) ? withPodTemplate(rules) : rules;
  });
  return [podRules, namespaceRules, secretRules, configMapRules, eventRules, leaseRules, ...own];
}

const withPods: ReadonlySet<string> = new Set([SandboxTemplates.kind, SandboxPools.kind]);
