import { Command } from "commander";
import { describe, expect, test } from "vitest";
import { FlagReader, plainForms, splitAtDashes, usageErrorOf } from "./command-parser.ts";
import { UsageError } from "./failure.ts";
import { type Arguments, type Flags, orList } from "./flags.ts";

const flags: Flags = {
  filename: { short: "f", value: "FILE", many: true, help: "" },
  namespace: { short: "n", value: "NS", help: "" },
  watch: { short: "w", help: "" },
  wait: { help: "" },
  "all-namespaces": { short: "A", help: "" },
  "dry-run": { value: "WHERE", alone: "client", choices: ["none", "client", "server"], help: "" },
  count: { value: "N", help: "" },
};

function read(...argv: string[]): Arguments {
  const { own, afterDashes } = splitAtDashes(argv);
  const command = new Command("test")
    .exitOverride()
    .allowExcessArguments()
    .action(() => {})
    .configureOutput({ writeErr: () => {} });
  const reader = new FlagReader(command, flags);
  try {
    command.parse(plainForms(own, flags), { from: "user" });
  } catch (error) {
    throw usageErrorOf(error);
  }
  return reader.arguments(command.args, afterDashes);
}

describe("a command line", () => {
  test.each([
    ["--namespace=x", ["--namespace=x"]],
    ["--namespace x", ["--namespace", "x"]],
    ["-n x", ["-n", "x"]],
    ["-nx", ["-nx"]],
    ["-n=x", ["-n=x"]],
  ])("gives a value as %s", (_form, argv) => {
    expect(read(...argv).text("namespace")).toBe("x");
  });

  test("keeps words in order, wherever flags stand", () => {
    const args = read("sbp", "-n", "x", "py", "-w", "b");
    expect(args.words).toEqual(["sbp", "py", "b"]);
    expect(args.isOn("watch")).toBe(true);
  });

  test("takes everything behind -- as words", () => {
    expect(read("a", "--", "--watch").words).toEqual(["a", "--watch"]);
  });

  test("takes - as a value", () => {
    expect(read("-f", "-").list("filename")).toEqual(["-"]);
  });

  test("collects what may be given several times, and lets the last word win otherwise", () => {
    const args = read("-f", "a", "--filename=b", "-n", "x", "-n", "y");
    expect(args.list("filename")).toEqual(["a", "b"]);
    expect(args.text("namespace")).toBe("y");
  });

  test("switches on and off", () => {
    expect(read().isOn("wait", true)).toBe(true);
    expect(read("--wait=false").isOn("wait", true)).toBe(false);
    expect(read("--wait").isOn("wait")).toBe(true);
    expect(read("-wA").isOn("all-namespaces")).toBe(true);
  });

  test("has flags that may stand alone, and then do not take the next word", () => {
    expect(read("--dry-run", "server").text("dry-run")).toBe("client");
    expect(read("--dry-run", "server").words).toEqual(["server"]);
    expect(read("--dry-run=server").text("dry-run")).toBe("server");
    expect(read().text("dry-run")).toBeUndefined();
  });

  test("leaves the value of a flag as it is, whatever flag it looks like", () => {
    expect(read("-n", "--wait=false").text("namespace")).toBe("--wait=false");
    expect(read("--count", "-n=x").text("count")).toBe("-n=x");
  });

  test("reads whole numbers", () => {
    expect(read("--count=-1").number("count")).toBe(-1);
    expect(read().number("count")).toBeUndefined();
    expect(() => read("--count=many").number("count")).toThrow('--count needs a whole number, not "many"');
  });

  test("leaves what stands after -- as it is", () => {
    const args = read("a", "--wait", "--", "ls", "-n=x", "--", "--all");
    expect([args.ownWords, args.afterDashes]).toEqual([["a"], ["ls", "-n=x", "--", "--all"]]);
    expect(args.words).toEqual(["a", "ls", "-n=x", "--", "--all"]);
    expect(read("a").afterDashes).toBeUndefined();
    expect(read("a", "--").afterDashes).toEqual([]);
  });

  test.each([
    [["--namespce", "x"], "unknown option '--namespce'\n(Did you mean --namespace?)"],
    [["--zzz"], "unknown option '--zzz'"],
    [["-x"], "unknown option '-x'"],
    [["--namespace"], "option '-n, --namespace <NS>' argument missing"],
    [["--wait=maybe"], '--wait must be true or false, as in --wait=true, not "maybe"'],
    [["--dry-run=yes"], "option '--dry-run [WHERE]' argument 'yes' is invalid. Allowed choices are none, client, server."],
  ])("%j is refused", (argv, message) => {
    expect(() => read(...argv)).toThrow(new UsageError(message));
  });
});

test("choices are listed as people say them", () => {
  expect(orList(["a"])).toBe("a");
  expect(orList(["a", "b", "c"])).toBe("a, b or c");
});
