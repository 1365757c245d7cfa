import { describe, expect, test } from "vitest";
import {
  configKeyMistakes,
  dnsLabelMistakes,
  dnsSubdomainMistakes,
  environmentNameMistakes,
  httpHeaderMistakes,
  labelValueMistakes,
  pathSegmentMistakes,
  portNameMistakes,
  portNumberMistakes,
  prefixMistakes,
  qualifiedNameMistakes,
  searchDomainMistakes,
} from "./names.ts";

const checks = {
  "a subdomain": dnsSubdomainMistakes,
  "a label of the DNS": dnsLabelMistakes,
  "a qualified name": qualifiedNameMistakes,
  "a label value": labelValueMistakes,
  "a key of a config map": configKeyMistakes,
  "a name of an environment variable": environmentNameMistakes,
  "a port name": portNameMistakes,
  "a header": httpHeaderMistakes,
  "a path segment": pathSegmentMistakes,
  "a search domain": searchDomainMistakes,
} as const;

const sound: readonly (readonly [keyof typeof checks, readonly string[]])[] = [
  ["a subdomain", ["a", "a-b", "a.b-c.d", "0", "a".repeat(253)]],
  ["a label of the DNS", ["a", "a-b", "0a", "a".repeat(63)]],
  ["a qualified name", ["a", "A_b.c-d", "x.y/a", "x-y/A", `${"a".repeat(253)}/${"b".repeat(63)}`]],
  ["a label value", ["", "a", "A_b.c-d", "1", "v".repeat(63)]],
  ["a key of a config map", ["a", ".a", "a..b", "-", "_", "A.b-c_d"]],
  ["a name of an environment variable", ["A", "1", "a b", "a-b.c", "!"]],
  ["a port name", ["http", "a-1", "0a", "a".repeat(15)]],
  ["a header", ["X-Header-Name", "1"]],
  ["a path segment", ["a", "A_", "...", "a.b"]],
  ["a search domain", ["a.b", "_tcp.a", "a_b.c"]],
];

const broken: readonly (readonly [keyof typeof checks, readonly string[]])[] = [
  ["a subdomain", ["", "A", "-a", "a-", "a..b", ".a", "a_b", "a".repeat(254)]],
  ["a label of the DNS", ["", "A", "a.b", "-", "a".repeat(64)]],
  ["a qualified name", ["", "-a", "a/", "/a", "a/b/c", "A/b", "a b", "b".repeat(64), `${"a".repeat(254)}/b`]],
  ["a label value", ["-", "a-", "a b", "a/b", "v".repeat(64)]],
  ["a key of a config map", ["", "a b", ".", "..", "..a", "a/b", "k".repeat(254)]],
  ["a name of an environment variable", ["", "a=b", "é", "a\nb"]],
  ["a port name", ["", "A", "1", "a--b", "-a", "a-", "a_b", "a".repeat(16)]],
  ["a header", ["", "a b", "a_b"]],
  ["a path segment", [".", "..", "a/b", "a%b"]],
  ["a search domain", ["", "A", "a..b", "a_", "a".repeat(254)]],
];

describe.each(sound)("%s", (what, texts) => {
  test.each(texts)("can be %o", (text) => {
    expect(checks[what](text)).toEqual([]);
  });
});

describe.each(broken)("%s", (what, texts) => {
  test.each(texts)("cannot be %o", (text) => {
    expect(checks[what](text)).not.toEqual([]);
  });
});

test("every mistake in a name is told, not only the first", () => {
  expect(qualifiedNameMistakes("A_/")).toHaveLength(3);
  expect(portNameMistakes("1--")).toHaveLength(3);
});

test("a name that others are made from may end with a dash", () => {
  expect(prefixMistakes(dnsSubdomainMistakes, "pool-")).toEqual([]);
  expect(prefixMistakes(dnsSubdomainMistakes, "-")).not.toEqual([]);
  expect(prefixMistakes(dnsSubdomainMistakes, "Pool-")).not.toEqual([]);
});

test("a mistake comes with the form that was asked for and examples of it", () => {
  expect(dnsLabelMistakes("A")).toEqual([
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  ]);
  expect(dnsLabelMistakes("a.b")).toEqual(["must not contain dots"]);
  expect(portNumberMistakes(0)).toEqual(["must be between 1 and 65535, inclusive"]);
});
