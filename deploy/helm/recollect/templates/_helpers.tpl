{{- define "recollect.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* Labels that select pods. Call with (dict "root" $ "part" "api"), or without a part for the one pod. */}}
{{- define "recollect.selector" -}}
app.kubernetes.io/name: recollect
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .part }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{- define "recollect.labels" -}}
{{ include "recollect.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end -}}

{{/* The pod that runs `recollect serve`, of which every workload has one template. */}}
{{- define "recollect.pod" -}}
metadata:
  labels:
    {{- include "recollect.selector" . | nindent 4 }}
  annotations:
    checksum/settings: {{ .root.Values.settings | toJson | sha256sum }}
    {{- with .root.Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  terminationGracePeriodSeconds: 30
  automountServiceAccountToken: false
  enableServiceLinks: false
  securityContext: {runAsNonRoot: true, runAsUser: 10001, fsGroup: 10001, seccompProfile: {type: RuntimeDefault}}
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: recollect
      image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: [serve{{ with .part }}, --only, {{ . }}{{ end }}]
      envFrom:
        - configMapRef: {name: {{ include "recollect.name" .root }}}
        {{- with .root.Values.existingSecret }}
        - secretRef: {name: {{ . }}}
        {{- end }}
      ports:
        - {name: http, containerPort: 8787}
      startupProbe:
        httpGet: {path: /health, port: http}
        failureThreshold: 60
        periodSeconds: 2
      readinessProbe:
        httpGet: {path: /ready, port: http}
        periodSeconds: 5
      livenessProbe:
        httpGet: {path: /health, port: http}
        periodSeconds: 10
        failureThreshold: 6
      resources:
        {{- toYaml .root.Values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: data, mountPath: /data}
        - {name: tmp, mountPath: /tmp}
  volumes:
    {{- if .part }}
    - {name: data, emptyDir: {}}
    {{- end }}
    - {name: tmp, emptyDir: {}}
  {{- with .root.Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* The beginning of an Ingress' spec, up to its paths. */}}
{{- define "recollect.ingress" -}}
ingressClassName: {{ .className }}
{{- with .tlsSecret }}
tls:
  - {hosts: [{{ $.host }}], secretName: {{ . }}}
{{- end }}
rules:
  - host: {{ .host }}
    http:
      paths:
{{- end -}}
