import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { coreKinds, Leases, Namespaces } from "#model/core-kinds.ts";
import { Pods } from "#model/pod.ts";
import { apiVersionOf } from "#model/resource.ts";
import { Shelves, Widgets } from "../../../../test/world/serve-face.ts";
import { routerFor } from "./routes.ts";

const kinds = [Widgets, Shelves, ...coreKinds];
const route = routerFor(kinds);

describe("routes", () => {
  test.each([
    ["/api/v1/pods", { to: "collection", type: Pods, namespace: undefined }],
    ["/api/v1/namespaces/a/pods", { to: "collection", type: Pods, namespace: "a" }],
    ["/api/v1/namespaces/a/pods/b", { to: "item", type: Pods, key: { namespace: "a", name: "b" }, subresource: undefined }],
    ["/api/v1/namespaces/a/pods/b/status", { to: "item", type: Pods, key: { namespace: "a", name: "b" }, subresource: "status" }],
    ["/api/v1/namespaces", { to: "collection", type: Namespaces, namespace: undefined }],
    ["/api/v1/namespaces/a", { to: "item", type: Namespaces, key: { namespace: undefined, name: "a" }, subresource: undefined }],
    ["/api/v1/namespaces/a/status", { to: "item", type: Namespaces, key: { namespace: undefined, name: "a" }, subresource: "status" }],
    ["/apis/coordination.k8s.io/v1/leases", { to: "collection", type: Leases, namespace: undefined }],
    ["/apis/example.test/v1/namespaces/a/widgets", { to: "collection", type: Widgets, namespace: "a" }],
    [
      "/apis/example.test/v1/namespaces/a/widgets/w/scale",
      { to: "item", type: Widgets, key: { namespace: "a", name: "w" }, subresource: "scale" },
    ],
    ["/apis/example.test/v1/shelves/s", { to: "item", type: Shelves, key: { namespace: undefined, name: "s" }, subresource: undefined }],
    ["/healthz", { to: "document", path: "/healthz" }],
    ["/apis", { to: "document", path: "/apis" }],
  ])("%s is served", (path, wanted) => {
    expect(route(path)).toEqual(wanted);
  });

  test.each([
    ["nothing", "/"],
    ["an unknown kind", "/api/v1/gadgets"],
    ["another version of a kind", "/apis/example.test/v2/widgets"],
    ["an object of a namespaced kind without its namespace", "/apis/example.test/v1/widgets/w"],
    ["a cluster-scoped kind inside a namespace", "/apis/example.test/v1/namespaces/a/shelves"],
    ["a subresource that the kind does not have", "/apis/example.test/v1/shelves/s/status"],
    ["an unknown subresource", "/api/v1/namespaces/a/pods/b/exec"],
    ["more than a subresource", "/api/v1/namespaces/a/pods/b/status/x"],
    ["an empty part", "/api/v1/namespaces//pods"],
    ["a trailing slash", "/api/v1/pods/"],
    ["a part that does not decode", "/api/v1/namespaces/%zz/pods"],
    ["a kind at the wrong root", "/apis/v1/pods"],
  ])("%s is not served", (_what, path) => {
    expect(route(path)).toBeUndefined();
  });

  test("names are decoded", () => {
    expect(route("/api/v1/namespaces/a%2Fb/pods/c%20d")).toMatchObject({ key: { namespace: "a/b", name: "c d" } });
  });

  test("the path of any object leads back to it", () => {
    const segment = fc.string({ minLength: 1 }).filter((text) => text !== "status" && text !== "scale" && text.isWellFormed());
    fc.assert(
      fc.property(fc.constantFrom(...kinds), segment, segment, (type, namespace, name) => {
        const root = type.group === "" ? "/api" : "/apis";
        const inside = type.namespaced ? `/namespaces/${encodeURIComponent(namespace)}` : "";
        const path = `${root}/${apiVersionOf(type)}${inside}/${type.plural}/${encodeURIComponent(name)}`;
        const key = { namespace: type.namespaced ? namespace : undefined, name };
        expect(route(path)).toEqual({ to: "item", type, key, subresource: undefined });
      }),
    );
  });
});
