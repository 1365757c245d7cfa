import { expect, test } from "vitest";
import { usualCapacity } from "./capacity.ts";
import { readConfiguration } from "./read-configuration.ts";

test("a file in JSON or YAML names modules and endpoints, with settings", () => {
  const yaml = `
deadline: 2s
plugins:
  - { name: nodes, module: ./nodes.ts, args: { a: 1 } }
  - { name: budget, url: "https://budget.internal/x", secretFile: s, hooks: [preCreatePool] }
capacity: { cpuOvercommit: 8, unschedulableAfter: 1m }
`;
  expect(readConfiguration(yaml)).toEqual({
    deadlineMs: 2000,
    plugins: [
      { kind: "module", name: "nodes", module: "./nodes.ts", args: { a: 1 } },
      { kind: "http", name: "budget", url: new URL("https://budget.internal/x"), secretFile: "s", hooks: ["preCreatePool"] },
    ],
    capacity: { ...usualCapacity, cpuOvercommit: 8, unschedulableAfterMs: 60_000 },
  });
  expect(readConfiguration('{"plugins":[{"name":"a","module":"pkg"}]}').plugins).toMatchObject([{ name: "a", module: "pkg" }]);
  expect(readConfiguration("")).toEqual({ plugins: [], capacity: usualCapacity });
  expect(readConfiguration('{"plugins":[{"name":"a","url":"http://h/","secretFile":"s"}]}').plugins).toMatchObject([
    { hooks: ["preCreatePool", "preUpdatePool", "preDeletePool", "preCreatePod"] },
  ]);
});

test.each([
  ["[", "neither YAML nor JSON"],
  ["[]", "the file must be an object"],
  ["plugin: []", 'the file has no field "plugin": the fields are deadline, plugins, capacity'],
  ["plugins: {}", "plugins must be a list"],
  ["plugins: [7]", "plugins[0] must be an object"],
  ["plugins: [{ module: x }]", "plugins[0].name is needed"],
  ["plugins: [{ name: A b, module: x }]", "plugins[0].name must be of lower-case letters"],
  ["plugins: [{ name: a }]", "plugins[0] (a) needs either module or url"],
  ["plugins: [{ name: a, module: x, url: 'http://h' }]", "plugins[0] (a) needs either module or url"],
  ["plugins: [{ name: a, module: 7 }]", "plugins[0] (a).module must be a text"],
  ["plugins: [{ name: a, module: x, hooks: [start] }]", "plugins[0] (a).hooks belongs to plugins with a url"],
  ["plugins: [{ name: a, url: 'ftp://h', secretFile: s }]", "plugins[0] (a).url must be an http or https address"],
  ["plugins: [{ name: a, url: 'http://h' }]", "plugins[0] (a).secretFile is needed"],
  ["plugins: [{ name: a, url: 'http://h', secretFile: s, args: 1 }]", "plugins[0] (a).args belongs to plugins with a module"],
  ["plugins: [{ name: a, url: 'http://h', secretFile: s, hooks: [start] }]", "plugins[0] (a).hooks[0] must be one of preCreatePool"],
  ["plugins: [{ name: a, url: 'http://h', secretFile: s, hooks: [] }]", "plugins[0] (a).hooks must be a list"],
  ["plugins: [{ name: a, module: x }, { name: a, module: y }]", 'plugins has two entries with the name "a"'],
  ["plugins: [{ name: quota, module: x }]", "plugins has an entry with the name quota, which is a plugin of AgentBox's own"],
  ["deadline: soon", "deadline must be a duration above 0"],
  ["deadline: 0s", "deadline must be a duration above 0"],
  ["capacity: { cpu: 1 }", 'capacity has no field "cpu"'],
  ["capacity: { cpuOvercommit: -1 }", "capacity.cpuOvercommit must be a number from 0.1 to 1000"],
  ["capacity: { unschedulableAfter: 7 }", "capacity.unschedulableAfter must be a text"],
])("%j is refused with its place: %s", (text, message) => {
  expect(() => readConfiguration(text)).toThrow(message);
});
