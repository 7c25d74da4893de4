{{- define "signalbox.name" -}}
{{- if contains "signalbox" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-signalbox{{ end }}
{{- end }}

{{- define "signalbox.selector" -}}
app.kubernetes.io/name: signalbox
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "signalbox.labels" -}}
{{ include "signalbox.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "signalbox.account" -}}
{{- .Values.serviceAccount.name | default (ternary (include "signalbox.name" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{- define "signalbox.image" -}}
{{- $v := .Values.image }}
{{- if $v.digest }}{{ $v.repository }}@{{ $v.digest }}{{ else }}{{ $v.repository }}:{{ $v.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "signalbox.priorityClass" -}}
{{- .Values.priorityClass.name | default (ternary (include "signalbox.name" .) "" .Values.priorityClass.create) }}
{{- end }}

{{- /* The Secrets that the operator's servers read, as JSON: {name, secret, path}; nothing where there are none. */ -}}
{{- define "signalbox.secrets" -}}
{{- $found := list }}
{{- if .Values.progress.enabled }}
{{- $secret := required "progress.tls.secretName is expected: tokens are sent by TLS alone" .Values.progress.tls.secretName }}
{{- $found = append $found (dict "name" "progress" "secret" $secret "path" "/progress") }}
{{- end }}
{{- range $name, $from := dict "tls" .Values.metrics.tls "token" .Values.metrics.token }}
{{- if and $.Values.metrics.enabled $from.secretName }}
{{- $found = append $found (dict "name" (printf "metrics-%s" $name) "secret" $from.secretName "path" (printf "/metrics/%s" $name)) }}
{{- end }}
{{- end }}
{{- if $found }}{{ toJson $found }}{{ end }}
{{- end }}

{{- /* The rules of files/permissions.json that the chosen features and kinds need. */ -}}
{{- define "signalbox.rules" -}}
{{- $plurals := dict "pj" "pytorchtrainingjobs" "dj" "deepspeedjobs" "caij" "colossalaijobs" }}
{{- $served := list }}
{{- range (.Values.kinds | default (keys $plurals)) }}{{ $served = append $served (get $plurals .) }}{{ end }}
{{- $features := merge (dict) .Values.features .Values.schedulers }}
{{- range (.Files.Get "files/permissions.json" | fromJsonArray) }}
{{- if or (eq .feature "") (get $features .feature) }}
{{- $resources := .rule.resources }}
{{- if has "batch.tensorstack.dev" .rule.apiGroups }}
{{- $resources = list }}
{{- range .rule.resources }}{{ if has (splitList "/" . | first) $served }}{{ $resources = append $resources . }}{{ end }}{{ end }}
{{- end }}
{{- if $resources }}
- apiGroups: {{ toJson .rule.apiGroups }}
  resources: {{ toJson $resources }}
  verbs: {{ toJson .rule.verbs }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* What is read of the whole cluster, whichever namespaces are served. */ -}}
{{- define "signalbox.clusterRules" -}}
{{- $schedulers := .Values.schedulers }}
{{- range (.Files.Get "files/permissions.json" | fromJsonArray) }}
{{- if and (hasSuffix "-cluster" .feature) (get $schedulers (trimSuffix "-cluster" .feature)) }}
- apiGroups: {{ toJson .rule.apiGroups }}
  resources: {{ toJson .rule.resources }}
  verbs: {{ toJson .rule.verbs }}
{{- end }}
{{- end }}
{{- end }}

{{- define "signalbox.electionRules" -}}
{{- range (.Files.Get "files/permissions.json" | fromJsonArray) }}
{{- if eq .feature "leader-election" }}
- apiGroups: {{ toJson .rule.apiGroups }}
  resources: {{ toJson .rule.resources }}
  verbs: {{ toJson .rule.verbs }}
  {{- if .rule.resourceNames }}
  resourceNames: [{{ include "signalbox.name" $ }}]
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Of files/permissions.json the rule of the feature progress on that resource. */ -}}
{{- define "signalbox.progressRules" -}}
{{- $resource := .resource }}
{{- range (.root.Files.Get "files/permissions.json" | fromJsonArray) }}
{{- if and (eq .feature "progress") (has $resource .rule.resources) }}
- apiGroups: {{ toJson .rule.apiGroups }}
  resources: {{ toJson .rule.resources }}
  verbs: {{ toJson .rule.verbs }}
{{- end }}
{{- end }}
{{- end }}

{{- /* A role and its binding; takes root, kind, name, namespace ("" for a ClusterRole), rules. */ -}}
{{- define "signalbox.role" -}}
{{- $root := .root -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- include "signalbox.labels" $root | nindent 4 }}
rules: {{- .rules | trim | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- include "signalbox.labels" $root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "signalbox.account" $root }}
    namespace: {{ $root.Release.Namespace }}
{{- end }}
