import { describe, expect, test } from "vitest";
import { factsOf } from "../../../../../../test/world/rendered-container.ts";
import { fieldValue, resourceValue } from "./field-value.ts";

const metadata = { labels: { app: "x", "example.com/tier": "a'b" }, annotations: { note: 'say "hi"' } };

describe("fields", () => {
  test.each([
    ["metadata.name", "box"],
    ["metadata.namespace", "ns"],
    ["metadata.uid", "uid-1"],
    ["metadata.labels['app']", "x"],
    ["metadata.labels['example.com/tier']", "a'b"],
    ["metadata.labels['missing']", ""],
    ["metadata.annotations['note']", 'say "hi"'],
    ["metadata.labels", 'app="x"\nexample.com/tier="a\'b"'],
    ["metadata.annotations", 'note="say \\"hi\\""'],
    ["spec.nodeName", "node-1"],
    ["spec.serviceAccountName", ""],
    ["status.podIP", "10.88.0.2"],
    ["status.podIPs", "10.88.0.2"],
    ["status.hostIP", "192.0.2.1"],
  ])("%s is %j", (path, value) => expect(fieldValue(factsOf({ metadata }), path)).toBe(value));

  test.each(["metadata.generation", "constructor", "spec.containers"])("%s is refused", (path) => {
    expect(() => fieldValue(factsOf({}), path)).toThrow(`a pod has no field ${path} that it can be told`);
  });
});

describe("resources", () => {
  const container = { resources: { limits: { cpu: "1500m", memory: "256Mi" }, requests: { cpu: "250m" } } };
  test.each([
    ["limits.cpu", undefined, "2"],
    ["limits.cpu", "1m", "1500"],
    ["limits.memory", "1Mi", "256"],
    ["limits.memory", "0", "268435456"],
    ["requests.cpu", "1m", "250"],
    ["requests.memory", undefined, "0"],
  ])("%s in units of %s is %s", (resource, divisor, value) => {
    const { container: own, ...facts } = factsOf({ container });
    expect(resourceValue(facts, own, { resource, ...(divisor === undefined ? {} : { divisor }) })).toBe(value);
  });

  test("a limit that is not set is the machine's", () => {
    const { container: own, ...facts } = factsOf({});
    expect(resourceValue(facts, own, { resource: "limits.cpu" })).toBe("8");
    expect(resourceValue(facts, own, { resource: "limits.memory", divisor: "1Mi" })).toBe("1024");
  });

  test("another container's can be told too, if it is there", () => {
    const { container: own, ...facts } = factsOf({ container: { ...container, name: "big" } });
    expect(resourceValue(facts, { ...own, name: "small", resources: {} }, { containerName: "big", resource: "limits.cpu" })).toBe("2");
    expect(() => resourceValue(facts, own, { containerName: "gone", resource: "limits.cpu" })).toThrow("no container gone");
  });
});
