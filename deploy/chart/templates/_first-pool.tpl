{{/* The template and the pool of firstPool. Takes root, and hook: whether Helm is to make them after everything else. */}}
{{- define "agentbox.firstTemplate" -}}
{{- $pool := .root.Values.firstPool -}}
apiVersion: agents.navix.sh/v1alpha1
kind: SandboxTemplate
metadata:
  name: {{ $pool.name }}
  {{- if .hook }}
  annotations:
    helm.sh/hook: post-install,post-upgrade
    helm.sh/hook-weight: "1"
  {{- end }}
spec:
  version: v1.0.0
  description: A small Debian with bash, Python, git and curl
  runtimes:
    - name: e2b
      port: 49983
  template:
    spec:
      terminationGracePeriodSeconds: 1
      {{- with .root.Values.sandboxes.pullSecrets }}
      imagePullSecrets:
        {{- range . }}
        - name: {{ . }}
        {{- end }}
      {{- end }}
      containers:
        - name: sandbox
          image: {{ include "agentbox.image" (dict "root" .root "whole" .root.Values.images.base "name" "agentbox-base") }}
          # For sudo, which the SDKs' users expect.
          securityContext:
            allowPrivilegeEscalation: true
          resources:
            {{- toYaml $pool.resources | nindent 12 }}
{{- end -}}

{{- define "agentbox.firstPool" -}}
{{- $pool := .root.Values.firstPool -}}
apiVersion: agents.navix.sh/v1alpha1
kind: SandboxPool
metadata:
  name: {{ $pool.name }}
  namespace: {{ .root.Values.sandboxes.namespace }}
  {{- if .hook }}
  annotations:
    helm.sh/hook: post-install,post-upgrade
    helm.sh/hook-weight: "2"
  {{- end }}
spec:
  replicas: {{ $pool.replicas }}
  templateName: {{ $pool.name }}
  podCreationImagePolicy: PoolDefaultImage
{{- end -}}
