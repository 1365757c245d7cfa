import { describe, expect, test } from "vitest";
import { rendered } from "../../../../../../test/world/rendered-container.ts";
import { readNote } from "./identity.ts";

const ofPool = { labels: { "agentbox.navix.sh/sandbox-pool": "py" } };

describe("what is run", () => {
  test.each([
    ["the image's entrypoint and command", {}, ["/entry", "default"]],
    ["other arguments for the image's entrypoint", { args: ["x"] }, ["/entry", "x"]],
    ["another command, without the image's arguments", { command: ["/other"] }, ["/other"]],
    ["another command with arguments", { command: ["/other"], args: ["x", "y"] }, ["/other", "x", "y"]],
  ])("%s", (_, container, argv) => expect(rendered({ container }).argv).toEqual(argv));

  test("variables of the pod stand in commands, those of the image do not", () => {
    const container = { command: ["/run"], args: ["$(MODE)", "$(FROM)"], env: [{ name: "MODE", value: "fast" }] };
    expect(rendered({ container }).argv).toEqual(["/run", "fast", "$(FROM)"]);
  });

  test("nothing at all is refused", () => {
    expect(() => rendered({ image: { entrypoint: [], cmd: [] } })).toThrow('the image "registry.invalid/app:1" has no command');
  });
});

describe("the daemon", () => {
  test("takes the place of the command in a sandbox, and needs none from the image", () => {
    const plan = rendered({ metadata: ofPool, image: { entrypoint: [], cmd: [] } });
    expect(plan.daemon).toBe(true);
    expect(plan.argv.slice(0, 2)).toEqual(["/.envd/init", "--"]);
    expect(plan.env).toMatchObject({ AGENTBOX_POD_UID: "uid-1", AGENTBOX_PUBLIC_KEY: "the key" });
  });

  test("is handed the pod's own command when the template wants it run, and nothing of the image's: that comes with arming", () => {
    const metadata = { ...ofPool, annotations: { "agentbox.navix.sh/run-entrypoint": "true" } };
    const env = [{ name: "X", value: "1" }];
    expect(rendered({ metadata, container: { args: ["$(X)"], env } }).argv.slice(-2)).toEqual(["/.envd/envd.cjs", "1"]);
    expect(rendered({ metadata, container: { command: ["/run"], args: ["$(X)"], env } }).argv.slice(-2)).toEqual(["/run", "1"]);
    expect(rendered({ metadata }).argv).toEqual(rendered({ metadata: ofPool, container: { args: ["x"] } }).argv);
  });

  test("cannot be told another pod or key by the pod's own variables", () => {
    const env = [
      { name: "AGENTBOX_POD_UID", value: "mine" },
      { name: "AGENTBOX_PUBLIC_KEY", value: "mine" },
    ];
    expect(rendered({ metadata: ofPool, container: { env } }).env).toMatchObject({
      AGENTBOX_POD_UID: "uid-1",
      AGENTBOX_PUBLIC_KEY: "the key",
    });
  });
});

describe("variables", () => {
  test("of the pod go before those of the image, and those before the usual ones", () => {
    const { env } = rendered({ container: { env: [{ name: "FROM", value: "pod" }] } });
    expect(env).toEqual({ PATH: "/image/bin", HOSTNAME: "box", FROM: "pod" });
    expect(rendered({ image: { env: [] } }).env["PATH"]).toContain("/usr/bin");
  });

  test("may hold an equals sign", () => {
    expect(rendered({ image: { env: ["A=b=c", "B="] } }).env).toMatchObject({ A: "b=c", B: "" });
  });
});

test("the working folder is the container's, else the image's, else the root", () => {
  expect(rendered({}).workingDir).toBe("/");
  expect(rendered({ image: { workingDir: "/srv" } }).workingDir).toBe("/srv");
  expect(rendered({ image: { workingDir: "/srv" }, container: { workingDir: "/app" } }).workingDir).toBe("/app");
});

test("a later agent can read from the container what it was made from", () => {
  const plan = rendered({ image: { stopSignal: "SIGQUIT" }, container: { image: `app:1-u7@sha256:${"2".repeat(64)}` } });
  expect(readNote(plan)).toEqual({
    hash: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
    image: `app:1-u7@sha256:${"2".repeat(64)}`,
    imageId: `docker.io/library/app@sha256:${"2".repeat(64)}`,
    stopSignal: "SIGQUIT",
  });
});

test("the image of the machine itself has an id like any other", () => {
  expect(readNote(rendered({ container: { image: "host" } })).imageId).toBe(`host@sha256:${"2".repeat(64)}`);
});
