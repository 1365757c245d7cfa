import { listOf, mapOf, shape } from "./shape.ts";

const ownerReference = shape("OwnerReference", {
  apiVersion: "string!",
  kind: "string!",
  name: "string!",
  uid: "string!",
  controller: "bool?",
  blockOwnerDeletion: "bool?",
});

/** The metadata of every object. Field ownership (managedFields) is not kept, and links to objects are long gone from the API. */
export const objectMetaShape = shape("ObjectMeta", {
  name: "string",
  generateName: "string",
  namespace: "string",
  selfLink: "ignored",
  uid: "string",
  resourceVersion: "string",
  generation: "int64",
  creationTimestamp: "time",
  deletionTimestamp: "time?",
  deletionGracePeriodSeconds: "int64?",
  labels: mapOf("string"),
  annotations: mapOf("string"),
  ownerReferences: listOf(ownerReference),
  finalizers: listOf("string"),
  managedFields: "ignored",
});
