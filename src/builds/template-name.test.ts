import { expect, test } from "vitest";
import { readTemplateName, tagsOf } from "./template-name.ts";

test("a name may have a team before it and a tag behind it", () => {
  expect(readTemplateName("My-App")).toEqual({ name: "my-app" });
  expect(readTemplateName("blue/app:v1.2")).toEqual({ team: "blue", name: "app", tag: "v1.2" });
});

test.each(["", "a b", "/app", "app:", ":v1", "app:v 1", "a".repeat(64), "-a", "app/../x", "app:a:b"])("%j is no name", (text) => {
  expect(readTemplateName(text)).toEqual(expect.any(String));
});

test("tags are those of the name and the others, once each; without any it is the default one", () => {
  expect(tagsOf({ name: "a", tag: "v1" }, ["v1", "v2"])).toEqual(["v1", "v2"]);
  expect(tagsOf({ name: "a" }, [])).toEqual(["default"]);
});
