/** Volumes of a pod. Sources that only clouds of the past have are carried along as they are. */
import { objectMetaShape } from "./metadata-shape.ts";
import { always, listOf, mapOf, shape } from "./shape.ts";

export const localObjectReference = shape("LocalObjectReference", { name: "string" });

export const labelSelector = shape("LabelSelector", {
  matchLabels: mapOf("string"),
  matchExpressions: listOf(shape("LabelSelectorRequirement", { key: "string!", operator: "string!", values: listOf("string") })),
});

export const fieldReference = shape("ObjectFieldSelector", { apiVersion: "string=v1", fieldPath: "string!" });

export const resourceFieldReference = shape("ResourceFieldSelector", {
  containerName: "string",
  resource: "string!",
  divisor: "quantity!",
});

const keyToPath = shape("KeyToPath", { key: "string!", path: "string!", mode: "int32?" });

const downwardFile = shape("DownwardAPIVolumeFile", {
  path: "string!",
  fieldRef: fieldReference,
  resourceFieldRef: resourceFieldReference,
  mode: "int32?",
});

const objectProjection = { name: "string", items: listOf(keyToPath), optional: "bool?" } as const;

const projection = shape("VolumeProjection", {
  secret: shape("SecretProjection", objectProjection),
  configMap: shape("ConfigMapProjection", objectProjection),
  downwardAPI: shape("DownwardAPIProjection", { items: listOf(downwardFile) }),
  serviceAccountToken: shape("ServiceAccountTokenProjection", {
    audience: "string",
    expirationSeconds: "int64?=3600",
    path: "string!",
  }),
  clusterTrustBundle: shape("ClusterTrustBundleProjection", {
    name: "string?",
    signerName: "string?",
    labelSelector,
    optional: "bool?",
    path: "string!",
  }),
  podCertificate: shape("PodCertificateProjection", {
    signerName: "string",
    keyType: "string",
    maxExpirationSeconds: "int32?",
    credentialBundlePath: "string",
    keyPath: "string",
    certificateChainPath: "string",
    userAnnotations: mapOf("string"),
  }),
});

const claimTemplate = shape("PersistentVolumeClaimTemplate", {
  metadata: always(objectMetaShape),
  spec: always(
    shape("PersistentVolumeClaimSpec", {
      accessModes: listOf("string"),
      selector: labelSelector,
      resources: always(shape("VolumeResourceRequirements", { limits: mapOf("quantity"), requests: mapOf("quantity") })),
      volumeName: "string",
      storageClassName: "string?",
      volumeMode: "string?=Filesystem",
      dataSource: "any",
      dataSourceRef: "any",
      volumeAttributesClassName: "string?",
    }),
  ),
});

export const volumeSources = {
  emptyDir: shape("EmptyDirVolumeSource", { medium: "string", sizeLimit: "quantity?" }),
  hostPath: shape("HostPathVolumeSource", { path: "string!", type: "string?=" }),
  secret: shape("SecretVolumeSource", {
    secretName: "string",
    items: listOf(keyToPath),
    defaultMode: "int32?=420",
    optional: "bool?",
  }),
  configMap: shape("ConfigMapVolumeSource", { ...objectProjection, defaultMode: "int32?=420" }),
  projected: shape("ProjectedVolumeSource", { sources: listOf(projection), defaultMode: "int32?=420" }),
  downwardAPI: shape("DownwardAPIVolumeSource", { items: listOf(downwardFile), defaultMode: "int32?=420" }),
  persistentVolumeClaim: shape("PersistentVolumeClaimVolumeSource", { claimName: "string!", readOnly: "bool" }),
  ephemeral: shape("EphemeralVolumeSource", { volumeClaimTemplate: claimTemplate }),
  image: shape("ImageVolumeSource", { reference: "string", pullPolicy: "string" }),
  csi: shape("CSIVolumeSource", {
    driver: "string!",
    readOnly: "bool?",
    fsType: "string?",
    volumeAttributes: mapOf("string"),
    nodePublishSecretRef: localObjectReference,
  }),
  nfs: shape("NFSVolumeSource", { server: "string!", path: "string!", readOnly: "bool" }),
  gcePersistentDisk: "any",
  awsElasticBlockStore: "any",
  gitRepo: "any",
  iscsi: "any",
  glusterfs: "any",
  rbd: "any",
  flexVolume: "any",
  cinder: "any",
  cephfs: "any",
  flocker: "any",
  fc: "any",
  azureFile: "any",
  vsphereVolume: "any",
  quobyte: "any",
  azureDisk: "any",
  photonPersistentDisk: "any",
  portworxVolume: "any",
  scaleIO: "any",
  storageos: "any",
} as const;

export const volume = shape("Volume", { name: "string!", ...volumeSources });
