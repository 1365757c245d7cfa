import { describe, expect, test } from "vitest";
import { DockerfileError, parseDockerfile } from "./parse-dockerfile.ts";

const steps = (text: string, given?: Record<string, string>) =>
  parseDockerfile(`FROM x\n${text}\nUSER u\nWORKDIR /w`, given).steps.slice(2, -2);

function refusal(text: string): string {
  try {
    parseDockerfile(text);
  } catch (error) {
    if (!(error instanceof DockerfileError)) throw error;
    return error.message;
  }
  throw new Error("the Dockerfile was taken");
}

describe("a Dockerfile as steps", () => {
  test("begins as root at the root, and ends as the user in its home", () => {
    expect(parseDockerfile("FROM python:3").steps.map(({ type, ...step }) => [type, "args" in step ? step.args : []])).toEqual([
      ["USER", ["root"]],
      ["WORKDIR", ["/"]],
      ["USER", ["user"]],
      ["WORKDIR", ["/home/user"]],
    ]);
    expect(
      parseDockerfile("FROM x\nUSER app:www\nWORKDIR /srv")
        .steps.slice(2)
        .map((step) => "args" in step && step.args),
    ).toEqual([["app"], ["/srv"]]);
  });

  test("continued lines are one, and comments between them are gone", () => {
    expect(steps("RUN a && \\\n  # note\n\n  b")).toEqual([{ type: "RUN", line: 2, args: ["a &&   b"] }]);
    expect(parseDockerfile("# escape=`\nFROM x\nRUN a `\n b\\c").steps[2]).toMatchObject({ args: ["a  b\\c"] });
  });

  test("variables may stand in either form, with quotes", () => {
    expect(steps(`ENV A=1 B="x y" C=a\\ b D='$Q'`)).toEqual([
      { type: "ENV", line: 2, args: ["A", "1", "B", "x y", "C", "a b", "D", "\\$Q"] },
    ]);
    expect(steps("ENV A some value")).toEqual([{ type: "ENV", line: 2, args: ["A", "some value"] }]);
  });

  test("ARG is a variable of later steps, with the value that is given for it", () => {
    expect(steps("ARG V=1\nWORKDIR /a/$V", { V: "2" })).toEqual([
      { type: "ENV", line: 2, args: ["V", "2"] },
      { type: "WORKDIR", line: 3, args: ["/a/2"] },
    ]);
    expect(parseDockerfile("ARG TAG=22.04\nFROM ubuntu:${TAG} AS base").image).toBe("ubuntu:22.04");
  });

  test("COPY is one step for each source, with owner and mode", () => {
    expect(steps("COPY --chown=a:b --chmod=755 --link x y/z /t/")).toEqual([
      { type: "COPY", line: 2, source: "x", target: "/t/", owner: "a:b", mode: "0755" },
      { type: "COPY", line: 2, source: "y/z", target: "/t/", owner: "a:b", mode: "0755" },
    ]);
    expect(steps('COPY ["a b", "/t"]')).toMatchObject([{ source: "a b", target: "/t" }]);
  });

  test("here-documents are files of a COPY, scripts of a RUN, and input of its commands", () => {
    expect(steps("ARG N=1\nCOPY <<A <<'B' /t/\n$N\nA\n$N\nB")).toMatchObject([
      { type: "ENV" },
      { content: "1\n", source: "A" },
      { content: "$N\n", source: "B" },
    ]);
    expect(steps("RUN <<EOF\necho a\necho b\nEOF")).toEqual([{ type: "RUN", line: 2, args: ["echo a\necho b"] }]);
    expect(steps("RUN cat <<-EOF > /x\n\ta\n\tEOF")).toEqual([{ type: "RUN", line: 2, args: ["cat <<-EOF > /x\na\nEOF"] }]);
  });

  test("CMD and ENTRYPOINT are the start command", () => {
    expect(parseDockerfile('FROM x\nENTRYPOINT ["node", "a b"]\nCMD ["--port", "80"]').startCmd).toBe("node 'a b' --port 80");
    expect(parseDockerfile("FROM x\nCMD a\nENTRYPOINT b").startCmd).toBe("b");
  });

  test("what means nothing here is a note", () => {
    expect(parseDockerfile("FROM x\nEXPOSE 80\nRUN --mount=type=cache,target=/c a").notes).toEqual([
      "line 2: EXPOSE has no meaning here and is left out",
      "line 3: --mount is left out; the folder is an ordinary one of the layer",
    ]);
  });

  test.each([
    ["RUN a", "line 1: FROM must come first"],
    ["FROM x\nFROM y", "line 2: a second FROM: only one stage"],
    ["FROM x\nCOPY --from=y a b", "line 2: --from needs a second stage"],
    ["FROM x\n\nSHELL a", "line 3: SHELL is not known"],
    ["FROM x\nCOPY a", "line 2: COPY takes one or more sources and a target"],
    ["FROM x\nCOPY ../a /b", "line 2: ../a leads out of the context"],
    ["FROM x\nADD https://y/z /b", "line 2: ADD of https://y/z: only files of the context"],
    ["FROM x\nADD a.tar.gz /b", "line 2: ADD would unpack a.tar.gz"],
    ["FROM x\nRUN --mount=type=secret,id=a b", "line 2: RUN --mount=type=secret,id=a cannot"],
    ["FROM x\nRUN <<EOF\na", "line 2: the here-document EOF has no end"],
    ["FROM x\nENV A", "line 2: ENV takes NAME=value"],
    ["FROM scratch", "line 1: FROM scratch has no shell"],
    ["# nothing", "line 1: there is no FROM"],
  ])("%j is an error with its line", (text, message) => {
    expect(refusal(text)).toContain(message);
  });
});
