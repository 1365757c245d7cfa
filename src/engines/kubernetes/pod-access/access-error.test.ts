import { expect, test } from "vitest";
import { ApiError, type ApiErrorReason, isApiError } from "#kube/api-error.ts";
import { PodAccessError } from "#kube/pod-access.ts";
import { accessError } from "./access-error.ts";

/** As servers and kubelets of version 1.36 say it. */
const said: readonly [ApiErrorReason, string, string][] = [
  ["NotFound", 'pods "py-1" not found', "not_found"],
  ["BadRequest", 'container "main" in pod "py-1" is waiting to start: ContainerCreating', "not_running"],
  ["BadRequest", 'container "main" in pod "py-1" is waiting to start: trying and failing to pull image', "not_running"],
  ["BadRequest", 'previous terminated container "main" in pod "py-1" not found', "not_found"],
  ["BadRequest", "container side is not valid for pod py-1", "not_found"],
  ["BadRequest", "pod py-1 does not have a host assigned", "not_running"],
  ["InternalError", 'unable to upgrade connection: container not found ("main")', "not_running"],
  ["InternalError", "unable to upgrade connection: pod does not exist", "not_running"],
];
test.each(said)("%s, %j", (reason, message, code) => {
  const error = accessError(new ApiError(reason, message));
  expect(error).toBeInstanceOf(PodAccessError);
  expect(error).toMatchObject({ code, message });
});

test("a node that does not answer is no fault of the caller's, and its address is not told", () => {
  const error = accessError(new ApiError("InternalError", "error dialing backend: dial tcp 192.0.2.7:10250: connect: no route to host"));
  expect(isApiError(error, "ServiceUnavailable") && error.message).toBe("the node of the pod does not answer now");
});

test("everything else stays what it is", () => {
  for (const error of [new ApiError("Forbidden", "no"), new ApiError("InternalError", "something else"), new Error("x")]) {
    expect(accessError(error)).toBe(error);
  }
});
