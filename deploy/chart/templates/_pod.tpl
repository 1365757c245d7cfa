{{/* The pod of a Deployment. Takes root, component, parts (what it runs, as words), resources, and grace in seconds. */}}
{{- define "agentbox.pod" -}}
{{- $root := .root -}}
{{- $values := .root.Values -}}
{{- $parts := splitList " " .parts -}}
metadata:
  labels:
    {{- include "agentbox.selector" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
    {{- with $values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # Read once, at the start.
    checksum/registries: {{ toJson $values.registries | sha256sum | trunc 16 }}
    {{- if $values.plugins.configuration }}
    checksum/plugins: {{ toJson $values.plugins | sha256sum | trunc 16 }}
    {{- end }}
    {{- with $values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "agentbox.fullname" $root }}-{{ .component }}
  # The variables that Kubernetes makes of our own Services have the names of our settings (AGENTBOX_GATEWAY_PORT).
  enableServiceLinks: false
  {{- with include "agentbox.priorityClassName" $root }}
  priorityClassName: {{ . }}
  {{- end }}
  terminationGracePeriodSeconds: {{ .grace }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    seccompProfile: { type: RuntimeDefault }
  {{- with $values.images.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  topologySpreadConstraints:
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      # Of one version, or old pods that are about to go would count.
      matchLabelKeys: [pod-template-hash]
      labelSelector:
        matchLabels:
          {{- include "agentbox.selector" $root | nindent 10 }}
          app.kubernetes.io/component: {{ $.component }}
    {{- end }}
  {{- with $values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: agentbox
      image: {{ include "agentbox.image" (dict "root" $root "whole" $values.images.controlPlane "name" "agentbox") }}
      imagePullPolicy: {{ $values.images.pullPolicy }}
      args: {{ concat (list "serve") $parts | toJson }}
      env:
        {{- include "agentbox.env" (dict "root" $root "parts" $parts "grace" .grace) | nindent 8 }}
      ports:
        {{- if has "api" $parts }}
        - { name: api, containerPort: 8080 }
        {{- end }}
        {{- if has "gateway" $parts }}
        - { name: gateway, containerPort: 8081 }
        - { name: gateway-tls, containerPort: 8443 }
        {{- end }}
        - { name: health, containerPort: 9090 }
      # It may wait for its first look at the cluster's objects; after that it answers at once, or hangs.
      startupProbe:
        httpGet: { path: /healthz, port: health }
        periodSeconds: 2
        failureThreshold: 60
      livenessProbe:
        httpGet: { path: /healthz, port: health }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      readinessProbe:
        httpGet: { path: /readyz, port: health }
        periodSeconds: 3
        timeoutSeconds: 3
        failureThreshold: 2
      lifecycle:
        # Others go on sending until they have heard that this pod ends.
        preStop:
          sleep: { seconds: {{ $values.termination.preStopSleep }} }
      resources:
        {{- toYaml .resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      volumeMounts:
        - { name: data, mountPath: /var/lib/agentbox }
        - { name: tmp, mountPath: /tmp }
        {{- if $values.registries }}
        - { name: registries, mountPath: /var/lib/agentbox/registries.json, subPath: registries.json, readOnly: true }
        {{- end }}
        {{- if and $values.plugins.configuration (or (has "api" $parts) (has "controllers" $parts)) }}
        - { name: plugins, mountPath: /etc/agentbox/plugins, readOnly: true }
        {{- end }}
        {{- if and $values.oidc.existingSecret (has "api" $parts) }}
        - { name: oidc, mountPath: /etc/agentbox/oidc, readOnly: true }
        {{- end }}
        {{- if and $values.tls.existingSecret (has "gateway" $parts) }}
        - { name: tls, mountPath: /etc/agentbox/tls, readOnly: true }
        {{- end }}
        {{- if and $values.checkpoints.repository $values.checkpoints.pushSecret (has "controllers" $parts) }}
        - { name: checkpoint-registry, mountPath: /etc/agentbox/checkpoint-registry, readOnly: true }
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: { sizeLimit: 256Mi }
    - name: data
      {{- if and $values.singlePod.enabled (not $values.singlePod.storage.ephemeral) }}
      persistentVolumeClaim:
        claimName: {{ default (printf "%s-history" (include "agentbox.fullname" $root)) $values.singlePod.storage.existingClaim }}
      {{- else }}
      emptyDir: { sizeLimit: 1Gi }
      {{- end }}
    {{- if $values.registries }}
    - name: registries
      configMap: { name: {{ include "agentbox.fullname" $root }}-registries }
    {{- end }}
    {{- if and $values.plugins.configuration (or (has "api" $parts) (has "controllers" $parts)) }}
    - name: plugins
      projected:
        sources:
          - configMap: { name: {{ include "agentbox.fullname" $root }}-plugins }
          {{- with $values.plugins.existingConfigMap }}
          - configMap: { name: {{ . }} }
          {{- end }}
          {{- with $values.plugins.existingSecret }}
          - secret: { name: {{ . }} }
          {{- end }}
    {{- end }}
    {{- if and $values.oidc.existingSecret (has "api" $parts) }}
    - name: oidc
      secret: { secretName: {{ $values.oidc.existingSecret }} }
    {{- end }}
    {{- if and $values.tls.existingSecret (has "gateway" $parts) }}
    - name: tls
      secret: { secretName: {{ $values.tls.existingSecret }} }
    {{- end }}
    {{- if has "controllers" $parts }}
    {{- include "agentbox.checkpointVolume" $root | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* Takes root, parts and grace. */}}
{{- define "agentbox.env" -}}
{{- $values := .root.Values -}}
- { name: AGENTBOX_HOME, value: /var/lib/agentbox }
- { name: AGENTBOX_POOL_NAMESPACE, value: {{ $values.sandboxes.namespace }} }
{{- if $values.sandboxes.onlyNamespace }}
- { name: AGENTBOX_ONLY_NAMESPACE, value: {{ $values.sandboxes.namespace }} }
{{- end }}
{{- if $values.clusterId }}
- { name: AGENTBOX_CLUSTER_ID, value: {{ $values.clusterId | quote }} }
{{- end }}
{{- if $values.adoptPools }}
- { name: AGENTBOX_ADOPT_POOLS, value: "true" }
{{- end }}
- { name: AGENTBOX_DAEMON_IMAGE, value: {{ include "agentbox.image" (dict "root" .root "whole" $values.images.daemon "name" "agentbox-daemon") | quote }} }
- { name: AGENTBOX_DOMAIN, value: {{ $values.domain | quote }} }
{{- if not $values.singlePod.enabled }}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef: { name: {{ include "agentbox.databaseSecret" .root }}, key: {{ $values.database.key }} }
{{- end }}
{{- if and $values.plugins.configuration (or (has "api" .parts) (has "controllers" .parts)) }}
- { name: AGENTBOX_PLUGINS, value: /etc/agentbox/plugins/plugins.json }
{{- end }}
{{- if and $values.oidc.existingSecret (has "api" .parts) }}
- { name: AGENTBOX_OIDC, value: /etc/agentbox/oidc/oidc.yaml }
{{- end }}
{{- if and (has "gateway" .parts) (not (has "api" .parts)) }}
- { name: AGENTBOX_API_ADDRESS, value: "{{ include "agentbox.fullname" .root }}-api.{{ .root.Release.Namespace }}.svc:80" }
{{- end }}
{{- if has "gateway" .parts }}
# What remains of the time to end, without 3 s in which clients are told to go elsewhere and 2 s for the end itself.
- { name: AGENTBOX_STREAM_GRACE, value: {{ printf "%ds" (sub .grace (add 5 $values.termination.preStopSleep)) | quote }} }
{{- end }}
{{- if and $values.checkpoints.repository (has "controllers" .parts) }}
{{ include "agentbox.checkpointEnv" .root }}
{{- else if and $values.checkpoints.repository (has "api" .parts) }}
# Only controllers speak with it; the API says whether there is one.
- { name: AGENTBOX_CHECKPOINT_REPOSITORY, value: {{ $values.checkpoints.repository | quote }} }
{{- end }}
{{- if and $values.tls.existingSecret (has "gateway" .parts) }}
- { name: AGENTBOX_TLS_CERT, value: /etc/agentbox/tls/tls.crt }
- { name: AGENTBOX_TLS_KEY, value: /etc/agentbox/tls/tls.key }
{{- end }}
{{- range $name, $value := $values.limits }}
{{- if not (kindIs "invalid" $value) }}
- { name: AGENTBOX_{{ $name | snakecase | upper }}, value: {{ ternary $value ($value | int64) (kindIs "string" $value) | quote }} }
{{- end }}
{{- end }}
{{- with $values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Where checkpoints go, for those that put them there. */}}
{{- define "agentbox.checkpointEnv" -}}
{{- with .Values.checkpoints.repository }}
- { name: AGENTBOX_CHECKPOINT_REPOSITORY, value: {{ . | quote }} }
{{- end }}
{{- if and .Values.checkpoints.repository .Values.checkpoints.pushSecret }}
- { name: AGENTBOX_CHECKPOINT_CREDENTIALS, value: /etc/agentbox/checkpoint-registry/.dockerconfigjson }
{{- end }}
{{- end -}}

{{- define "agentbox.checkpointVolume" -}}
{{- if and .Values.checkpoints.repository .Values.checkpoints.pushSecret }}
- name: checkpoint-registry
  secret: { secretName: {{ .Values.checkpoints.pushSecret }} }
{{- end }}
{{- end -}}
