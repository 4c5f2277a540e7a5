{{/* What all pods have in common. Each of these takes (dict "root" $ "name" "worker" ...). */}}

{{- define "eddy.labels" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end }}

{{- define "eddy.allLabels" -}}
{{ include "eddy.labels" . }}
app.kubernetes.io/part-of: eddy
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "eddy.metadata" -}}
metadata:
  name: {{ .root.Release.Name }}-{{ .name }}
  labels:
    {{- include "eddy.allLabels" . | nindent 4 }}
{{- end }}

{{- define "eddy.podMetadata" -}}
metadata:
  labels:
    {{- include "eddy.allLabels" . | nindent 4 }}
    {{- with .root.Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # Another map: a rolling restart.
    checksum/settings: {{ toJson .root.Values.settings | sha256sum }}
    {{- if .port }}
    prometheus.io/scrape: "true"
    prometheus.io/port: {{ .port | quote }}
    {{- end }}
{{- end }}

{{- define "eddy.podSpec" -}}
automountServiceAccountToken: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "eddy.container" -}}
image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
envFrom:
  - configMapRef: { name: {{ .root.Release.Name }}-settings }
  {{- with .root.Values.existingSecret }}
  - secretRef: { name: {{ . }} }
  {{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- if .port }}
ports:
  - { name: web, containerPort: {{ .port }} }
# A process that restores its state is alive: only /livez restarts it.
livenessProbe:
  httpGet: { path: /livez, port: web }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: web }
  periodSeconds: 5
  timeoutSeconds: 5
startupProbe:
  httpGet: { path: /livez, port: web }
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 60
{{- end }}
{{- end }}

{{- define "eddy.env" -}}
{{- range $name, $value := . }}
- { name: {{ $name }}, value: {{ $value | toString | quote }} }
{{- end }}
{{- end }}

{{- define "eddy.volumeMounts" -}}
- { name: tmp, mountPath: /tmp }
{{- if .root.Values.kafkaSecret }}
- { name: kafka, mountPath: /etc/eddy/kafka, readOnly: true }
{{- end }}
{{- end }}

{{- define "eddy.volumes" -}}
- { name: tmp, emptyDir: {} }
{{- with .root.Values.kafkaSecret }}
- { name: kafka, secret: { secretName: {{ . }} } }
{{- end }}
{{- end }}
