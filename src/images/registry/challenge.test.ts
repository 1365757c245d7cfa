import { expect, test } from "vitest";
import { parseChallenges } from "./challenge.ts";

test.each([
  ["Basic", [{ scheme: "basic", parameters: {} }]],
  ['Basic realm="x"', [{ scheme: "basic", parameters: { realm: "x" } }]],
  [
    'Bearer realm="https://auth.example/token",service="registry.example",scope="repository:a/b:pull,push"',
    [
      {
        scheme: "bearer",
        parameters: { realm: "https://auth.example/token", service: "registry.example", scope: "repository:a/b:pull,push" },
      },
    ],
  ],
  ['BEARER Realm = "x" , error=invalid_token', [{ scheme: "bearer", parameters: { realm: "x", error: "invalid_token" } }]],
  ['Bearer realm="with \\"quotes\\" and \\\\"', [{ scheme: "bearer", parameters: { realm: 'with "quotes" and \\' } }]],
  [
    'Negotiate, Basic realm="a, b", Bearer realm="c"',
    [
      { scheme: "negotiate", parameters: {} },
      { scheme: "basic", parameters: { realm: "a, b" } },
      { scheme: "bearer", parameters: { realm: "c" } },
    ],
  ],
  ["", []],
  ['"nonsense"', []],
  ["Bearer realm=", [{ scheme: "bearer", parameters: {} }]],
])("%s", (header, challenges) => {
  expect(parseChallenges(header)).toEqual(challenges);
});

test("several header lines are one list", () => {
  expect(parseChallenges(['Basic realm="a"', 'Bearer realm="b"']).map(({ scheme }) => scheme)).toEqual(["basic", "bearer"]);
});
