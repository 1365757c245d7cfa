import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { targetOf, type TargetRequest } from "./target.ts";

const request = (over: Partial<TargetRequest>): TargetRequest => ({ host: "127.0.0.1:8081", url: "/", ...over });
const found = (over: Partial<TargetRequest>) => {
  const result = targetOf(request(over));
  return result.kind === "target" ? result.target : result.message;
};

describe("a request says which sandbox and port it is for", () => {
  test.each<[string, Partial<TargetRequest>, unknown]>([
    ["by its host", { host: "3000-abc123.box.test", url: "/a?b=c" }, { sandboxId: "abc123", port: 3000, url: "/a?b=c", by: "host" }],
    ["by its host with a port", { host: "3000-abc123.box.test:8443" }, { sandboxId: "abc123", port: 3000, url: "/", by: "host" }],
    ["by a host with an old client's suffix", { host: "80-abc-6532622b.box.test" }, { sandboxId: "abc", port: 80, url: "/", by: "host" }],
    ["by a host in capitals", { host: "80-ABC.box.test" }, { sandboxId: "abc", port: 80, url: "/", by: "host" }],
    [
      "by headers",
      { idHeader: "abc", portHeader: "49983", url: "/files" },
      { sandboxId: "abc", port: 49_983, url: "/files", by: "headers" },
    ],
    [
      "by headers on a name",
      { host: "sandbox.box.test", idHeader: "abc", portHeader: "1" },
      { sandboxId: "abc", port: 1, url: "/", by: "headers" },
    ],
    [
      "by headers with an old client's id",
      { idHeader: "abc-6532622b", portHeader: "80" },
      { sandboxId: "abc", port: 80, url: "/", by: "headers" },
    ],
    ["by its path", { url: "/sandboxes/abc/8080/x/y?z=1" }, { sandboxId: "abc", port: 8080, url: "/x/y?z=1", by: "path" }],
    ["by its path alone", { url: "/sandboxes/abc/8080" }, { sandboxId: "abc", port: 8080, url: "/", by: "path" }],
    ["by its path with only a query", { url: "/sandboxes/abc/8080?q" }, { sandboxId: "abc", port: 8080, url: "/?q", by: "path" }],
  ])("%s", (_, over, expected) => {
    expect(found(over)).toEqual(expected);
  });

  test("the host goes before headers and path", () => {
    const over = { host: "3000-abc.box.test", idHeader: "other", portHeader: "1", url: "/sandboxes/third/2/" };
    expect(found(over)).toEqual({ sandboxId: "abc", port: 3000, url: "/sandboxes/third/2/", by: "host" });
  });

  test("a machine's own name is no sandbox, whatever it looks like", () => {
    expect(found({ host: "3000-abc", idHeader: "def", portHeader: "80" })).toMatchObject({ sandboxId: "def", by: "headers" });
  });
});

describe("a request that cannot be understood is told what would be right", () => {
  test.each<[string, Partial<TargetRequest>, RegExp]>([
    ["no sandbox named", { url: "/health" }, /names no sandbox/],
    ["an id header without its port", { idHeader: "abc" }, /send both/],
    ["a port header without its id", { portHeader: "80" }, /send both/],
    ["a port that is too high", { host: "65536-abc.box.test" }, /1 to 65535/],
    ["port 0", { idHeader: "abc", portHeader: "0" }, /1 to 65535/],
    ["a port that is none", { idHeader: "abc", portHeader: "80x" }, /1 to 65535/],
    ["an id with a path in it", { idHeader: "../etc", portHeader: "80" }, /letters and digits/],
    ["an empty id", { idHeader: "", portHeader: "80" }, /letters and digits/],
    ["an encoded id in the path", { url: "/sandboxes/a%2f/80/" }, /letters and digits/],
    ["a host with a space", { host: "80-abc.box test" }, /not a host name/],
    ["a host with a user", { host: "me@80-abc.box.test" }, /not a host name/],
    ["an empty host", { host: "" }, /not a host name/],
    ["a very long host", { host: `80-abc.${"a".repeat(300)}` }, /not a host name/],
    ["an absolute target", { host: "80-abc.box.test", url: "http://elsewhere/" }, /must be a path/],
    ["an asterisk", { host: "80-abc.box.test", url: "*" }, /must be a path/],
  ])("%s", (_, over, message) => {
    expect(found(over)).toMatch(message);
  });

  test("every input gives a valid target or an error message", () => {
    const text = fc.oneof(fc.string({ maxLength: 80 }), fc.stringMatching(/^[0-9]{0,6}-?[a-zA-Z0-9.:[\]-]{0,30}$/));
    fc.assert(
      fc.property(
        text,
        fc.option(text, { nil: undefined }),
        fc.option(text, { nil: undefined }),
        text,
        (host, idHeader, portHeader, rest) => {
          const result = targetOf({ host, idHeader, portHeader, url: `/${rest}` });
          if (result.kind === "refused") return result.message !== "";
          const { sandboxId, port, url } = result.target;
          return /^[a-z0-9]{1,63}$/.test(sandboxId) && port >= 1 && port <= 65_535 && url.startsWith("/");
        },
      ),
    );
  });
});
