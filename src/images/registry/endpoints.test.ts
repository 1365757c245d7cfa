import { expect, test } from "vitest";
import { endpointsOf, isLoopback, type RegistrySettings } from "./endpoints.ts";

function urls(registry: string, settings: RegistrySettings = {}): string[] {
  return endpointsOf(registry, settings).map(({ url }) => url);
}

test.each([
  ["registry.example", "https://registry.example"],
  ["registry.example:5000", "https://registry.example:5000"],
  ["localhost:5000", "http://localhost:5000"],
  ["127.0.0.1:5000", "http://127.0.0.1:5000"],
  ["[::1]:5000", "http://[::1]:5000"],
  ["docker.io", "https://registry-1.docker.io"],
])("%s is at %s", (registry, url) => {
  expect(urls(registry)).toEqual([url]);
});

test("plain HTTP is for those who are named, TLS on loopback too", () => {
  expect(urls("registry.example:80", { plainHttp: ["registry.example:80"] })).toEqual(["http://registry.example:80"]);
  expect(urls("localhost:5000", { tls: ["localhost:5000"] })).toEqual(["https://localhost:5000"]);
});

test("mirrors come first, in their order, and have a host of their own", () => {
  const settings = { mirrors: { "docker.io": ["localhost:5000", "https://mirror.example/proxy/", "http://10.0.0.1"] } };
  expect(endpointsOf("docker.io", settings)).toEqual([
    { host: "localhost:5000", url: "http://localhost:5000", isMirror: true },
    { host: "mirror.example", url: "https://mirror.example/proxy", isMirror: true },
    { host: "10.0.0.1", url: "http://10.0.0.1", isMirror: true },
    { host: "docker.io", url: "https://registry-1.docker.io", isMirror: false },
  ]);
  expect(urls("registry.example", settings)).toEqual(["https://registry.example"]);
});

test.each(["ftp://mirror.example", "https://user:secret@mirror.example", "not a host", "https://mirror.example/?a=b"])(
  "the mirror %s is refused",
  (mirror) => {
    expect(() => endpointsOf("docker.io", { mirrors: { "docker.io": [mirror] } })).toThrow(
      expect.objectContaining({ code: "invalid_config" }),
    );
  },
);

test.each([
  ["localhost", true],
  ["a.localhost:80", true],
  ["127.9.9.9", true],
  ["[::1]", true],
  ["127.0.0.1.example", false],
  ["localhost.example", false],
  ["10.0.0.1", false],
])("%s on loopback: %s", (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});
