import { describe, expect, test } from "vitest";
import { LabelSelectorError } from "#model/label-selector.ts";
import { cacheScope } from "./cache-scope.ts";

describe("the scope of a cache", () => {
  test("without options is every sandbox, pool, checkpoint and template, and nothing of the system", () => {
    const { pods, pools, checkpoints, templates, system } = cacheScope({});
    expect([pods, pools, checkpoints, templates].map((source) => [source.type.kind, source.namespace, source.labelSelector])).toEqual([
      ["Pod", undefined, "agentbox.navix.sh/sandbox-pool"],
      ["SandboxPool", undefined, undefined],
      ["Checkpoint", undefined, undefined],
      ["SandboxTemplate", undefined, undefined],
    ]);
    expect(system).toBeUndefined();
  });

  test("of a namespace and labels holds for all of our kinds; templates have no namespace", () => {
    const { pods, pools, checkpoints, templates } = cacheScope({ namespace: "team-a", labelSelector: "tier=web,!old" });
    expect([pods, pools, checkpoints, templates].map((source) => [source.namespace, source.labelSelector])).toEqual([
      ["team-a", "agentbox.navix.sh/sandbox-pool,tier=web,!old"],
      ["team-a", "tier=web,!old"],
      ["team-a", "tier=web,!old"],
      [undefined, "tier=web,!old"],
    ]);
  });

  test("has secrets and config maps of the system namespace, whatever their labels", () => {
    const { system } = cacheScope({ namespace: "team-a", labelSelector: "tier=web", systemNamespace: "agentbox" });
    expect(system?.secrets).toMatchObject({ type: { kind: "Secret" }, namespace: "agentbox" });
    expect(system?.configMaps).toMatchObject({ type: { kind: "ConfigMap" }, namespace: "agentbox" });
    expect(system?.secrets.labelSelector).toBeUndefined();
  });

  test("takes an empty text for none", () => {
    expect(cacheScope({ namespace: "", labelSelector: " ", systemNamespace: "" })).toEqual(cacheScope({}));
  });

  test("with a selector that is none is refused, with what is wrong", () => {
    expect(() => cacheScope({ labelSelector: "tier in web" })).toThrow(LabelSelectorError);
    expect(() => cacheScope({ labelSelector: "tier in web" })).toThrow(
      "label selector \"tier in web\": unable to parse requirement: found 'web' expected: '('",
    );
  });
});
