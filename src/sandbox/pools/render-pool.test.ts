import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isReservedKey } from "#model/keys.ts";
import { aMember, shellEnv, shellTemplate, someInstanceTypes } from "../../../test/world/env-objects.ts";
import { formatOverrides, overlayResources, type PoolParts, renderPool } from "./render-pool.ts";

const small = someInstanceTypes().types.get("small");
const rendered = (parts: Partial<PoolParts> = {}) =>
  renderPool({ env: shellEnv(), member: aMember("shell-a"), template: shellTemplate(), ...parts });
const containers = (parts: Partial<PoolParts>) => rendered(parts).spec.template?.spec?.containers ?? [];

describe("the pool of a member", () => {
  test("embeds the template and says where it came from", () => {
    const { metadata, spec } = rendered();
    expect(spec).toEqual({ replicas: 1, idleImage: "pause:1", template: shellTemplate().spec.template });
    expect(metadata).toEqual({
      labels: { "agentbox.navix.sh/env": "shell", "agentbox.navix.sh/scaling-group": "default" },
      annotations: {
        "agentbox.navix.sh/template-name": "shell",
        "agentbox.navix.sh/template-version": "v1.0.0",
        "agentbox.navix.sh/overrides": "{}",
      },
    });
  });

  test("of mode OnDemandJob has no replicas, and pods that are not used again, whatever member and template say", () => {
    const template = shellTemplate({
      template: { ...shellTemplate().spec.template, metadata: { annotations: { a: "b", "agentbox.navix.sh/recycle-policy": "Always" } } },
    });
    const member = aMember("shell-a", {}, { spec: { replicas: 3 } });
    const [warm, onDemand] = [shellEnv({ members: [member] }), shellEnv({ members: [member], spec: { mode: "OnDemandJob" } })];
    const { spec } = rendered({ env: onDemand, member, template });
    expect(spec.replicas).toBe(0);
    expect(spec.template?.metadata?.annotations).toEqual({ a: "b", "agentbox.navix.sh/recycle-policy": "Never" });
    expect(spec.template?.spec).toEqual(template.spec.template?.spec);
    expect(rendered({ env: warm, member, template }).spec).toMatchObject({ replicas: 3, template: template.spec.template });
    // So that a change of the mode is seen as a change of what the pool was rendered from.
    expect(formatOverrides(onDemand, member)).not.toBe(formatOverrides(warm, member));
  });

  test("has the overrides of the Env instead of the template's values", () => {
    const overrides = {
      image: "py:3",
      podCreationImagePolicy: "PoolDefaultImage",
      defaultStartupTimeout: "1m",
      defaultIdleTimeout: "1h",
    } as const;
    const { spec, metadata } = rendered({ env: shellEnv({ spec: { overrides } }) });
    expect(spec).toMatchObject({ podCreationImagePolicy: "PoolDefaultImage", defaultStartupTimeout: "1m", defaultIdleTimeout: "1h" });
    expect(spec.template?.spec?.containers.map(({ image }) => image)).toEqual(["py:3", "side:1"]);
    expect(spec).not.toHaveProperty("image");
    expect(JSON.parse(metadata.annotations["agentbox.navix.sh/overrides"] ?? "")).toEqual(overrides);
  });

  test("has the resources of its instance type, multiplied, in the first container and on the type's nodes", () => {
    const member = aMember("shell-a", { instanceType: "small", multiplier: 3, inlineResources: { limits: { cpu: "9" } } });
    const { spec } = rendered({ member, instanceType: small });
    expect(spec.template?.spec?.containers.map(({ resources }) => resources)).toEqual([
      { limits: { cpu: "1500m", memory: "1536Mi", "ephemeral-storage": "4Gi" }, requests: { cpu: "300m" } },
      undefined,
    ]);
    expect(spec.template?.spec?.["nodeSelector"]).toEqual({ disk: "ssd" });
  });

  test("has its own resources where it names no instance type", () => {
    const member = aMember("shell-a", { inlineResources: { requests: { cpu: "250m" } } });
    expect(containers({ member })[0]?.resources).toEqual({
      limits: { memory: "1Gi", "ephemeral-storage": "4Gi" },
      requests: { cpu: "250m" },
    });
  });

  test("has the member's labels and annotations, but none that belong to AgentBox", () => {
    const member = aMember("shell-a", {
      scalingGroup: "",
      labels: { tier: "a", "agentbox.navix.sh/env": "other", "scheduling.navix.sh/team": "thieves" },
      annotations: { note: "n", "agentbox.navix.sh/template-name": "other" },
    });
    const env = shellEnv({ metadata: { labels: { "scheduling.navix.sh/team": "red", "scheduling.navix.sh/user": "ann" } } });
    const template = shellTemplate({}, { labels: { tier: "t", kept: "t" }, annotations: { note: "t", "agentbox.navix.sh/docs": "text" } });
    const { labels, annotations } = rendered({ env, member, template }).metadata;
    expect(labels).toEqual({
      tier: "a",
      kept: "t",
      "agentbox.navix.sh/env": "shell",
      "scheduling.navix.sh/team": "red",
      "scheduling.navix.sh/user": "ann",
    });
    expect(annotations).toMatchObject({ note: "n", "agentbox.navix.sh/template-name": "shell" });
    expect(annotations).not.toHaveProperty(["agentbox.navix.sh/docs"]);
  });

  test("names the Env's pull secret once, beside those of the template", () => {
    const spec = { containers: [{ name: "main" }], imagePullSecrets: [{ name: "mirror" }] };
    const template = shellTemplate({ template: { spec } });
    const secrets = (pullSecret: string | undefined) => rendered({ template, pullSecret }).spec.template?.spec?.imagePullSecrets;
    expect([secrets(undefined), secrets("ips-shell"), secrets("mirror")]).toEqual([
      [{ name: "mirror" }],
      [{ name: "mirror" }, { name: "ips-shell" }],
      [{ name: "mirror" }],
    ]);
  });

  test.for([
    ["what was written, whatever else", { minReplicas: 2 }, { replicas: 7 }, false, 7],
    ["its minimum", { minReplicas: 2 }, undefined, false, 2],
    ["one where nothing scales it", {}, undefined, false, 1],
    ["none where an autoscaler does", {}, undefined, true, 0],
  ] as const)("begins with %s", ([, config, spec, enabled, replicas]) => {
    const member = aMember("shell-a", config, spec === undefined ? {} : { spec });
    const env = shellEnv({ members: [member], spec: { autoscaling: { groups: [{ name: "default", enabled }] } } });
    expect(rendered({ env, member }).spec.replicas).toBe(replicas);
  });
});

describe("rendering", () => {
  const key = fc.constantFrom("tier", "note", "agentbox.navix.sh/env", "agentbox.navix.sh/overrides", "scheduling.navix.sh/team", "x.io/y");
  const map = fc.dictionary(key, fc.constantFrom("a", "b", ""));
  const quantities = fc.dictionary(fc.constantFrom("cpu", "memory", "gpu"), fc.constantFrom("1", "500m", "2Gi"));
  const resources = fc.record({ limits: quantities, requests: quantities }, { requiredKeys: [] });

  test("gives no user a key of ours, and keeps every other key of the member", () => {
    fc.assert(
      fc.property(map, map, map, (labels, annotations, fromTemplate) => {
        const template = shellTemplate({}, { labels: fromTemplate, annotations: fromTemplate });
        const { metadata } = rendered({ member: aMember("shell-a", { labels, annotations }), template });
        expect(metadata.labels["agentbox.navix.sh/env"]).toBe("shell");
        expect(metadata.labels["scheduling.navix.sh/team"]).toBeUndefined();
        const mine = Object.entries(labels).filter(([name]) => !isReservedKey(name));
        expect(metadata.labels).toMatchObject(Object.fromEntries(mine));
      }),
    );
  });

  test("takes limit and request of a resource from one side only", () => {
    fc.assert(
      fc.property(resources, resources, (base, extra) => {
        const merged = overlayResources(base, extra);
        for (const name of ["cpu", "memory", "gpu"]) {
          const isNamed = extra.limits?.[name] !== undefined || extra.requests?.[name] !== undefined;
          const from = isNamed ? extra : base;
          expect([merged.limits?.[name], merged.requests?.[name]]).toEqual([from.limits?.[name], from.requests?.[name]]);
        }
      }),
    );
  });

  test("changes nothing that it was given, and gives the same again", () => {
    fc.assert(
      fc.property(map, resources, (labels, inlineResources) => {
        const member = aMember("shell-a", { labels, inlineResources });
        const template = shellTemplate();
        const first = rendered({ member, template });
        expect(rendered({ member, template })).toEqual(first);
        expect(template).toEqual(shellTemplate());
      }),
    );
  });

  test("records the same choices as the same text, whatever the order of their keys", () => {
    const env = shellEnv({ spec: { overrides: { image: "a", defaultIdleTimeout: "1h" } } });
    const turned = shellEnv({ spec: { overrides: { defaultIdleTimeout: "1h", image: "a" } } });
    const [one, other] = [aMember("a", { labels: { x: "1", y: "2" } }), aMember("a", { labels: { y: "2", x: "1" } })];
    expect(formatOverrides(env, one)).toBe(formatOverrides(turned, other));
    expect(formatOverrides(env, one)).not.toBe(formatOverrides(env, aMember("a", { labels: { x: "2", y: "2" } })));
    expect(formatOverrides(env, aMember("a", { minReplicas: 3, priority: 1, inlineResources: {} }))).toBe(
      formatOverrides(env, aMember("a")),
    );
  });
});
