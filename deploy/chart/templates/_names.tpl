{{/* Names, labels and image references. */}}

{{- define "agentbox.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* In front of every name, also of those that have no namespace. */}}
{{- define "agentbox.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Of everything that the chart makes. */}}
{{- define "agentbox.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: agentbox
{{ include "agentbox.selector" . }}
{{- end -}}

{{/* Of the pods of this release. */}}
{{- define "agentbox.selector" -}}
app.kubernetes.io/name: {{ include "agentbox.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Pods that are a part (api, controllers, gateway): those of its own Deployment, or the single pod. Takes root and part. */}}
{{- define "agentbox.partSelector" -}}
{{ include "agentbox.selector" .root }}
app.kubernetes.io/component: {{ ternary "all" .part .root.Values.singlePod.enabled }}
{{- end -}}

{{/* An image reference. Takes root, whole (the reference that goes before all), and name. */}}
{{- define "agentbox.image" -}}
{{- $images := .root.Values.images -}}
{{- if .whole -}}
{{- .whole -}}
{{- else -}}
{{- $registry := required "images.registry is needed: the registry that `make images REGISTRY=…` pushed to, such as registry.example.com/platform" $images.registry -}}
{{- printf "%s/%s:%s" (trimSuffix "/" $registry) .name (default .root.Chart.AppVersion $images.tag) -}}
{{- end -}}
{{- end -}}

{{- define "agentbox.databaseSecret" -}}
{{- default (printf "%s-database" (include "agentbox.fullname" .)) .Values.database.existingSecret -}}
{{- end -}}

{{- define "agentbox.priorityClassName" -}}
{{- if .Values.priorityClass.existing -}}
{{- .Values.priorityClass.existing -}}
{{- else if .Values.priorityClass.create -}}
{{- include "agentbox.fullname" . -}}
{{- end -}}
{{- end -}}

{{/* The parts that have a pod of their own, or "all". */}}
{{- define "agentbox.components" -}}
{{- ternary "all" "api controllers gateway" .Values.singlePod.enabled -}}
{{- end -}}

{{/* The parts that have a service account of their own, as words. */}}
{{- define "agentbox.accounts" -}}
{{- include "agentbox.components" . }}{{ if .Values.nodeAgent.enabled }} node{{ end -}}
{{- end -}}

{{/* Where there are pools, as a JSON list. */}}
{{- define "agentbox.sandboxNamespaces" -}}
{{- concat (list .Values.sandboxes.namespace) .Values.sandboxes.extraNamespaces | uniq | toJson -}}
{{- end -}}
